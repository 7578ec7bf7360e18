// Each file of Sources/RealmWeb/Resources has a line here; a test compares the two.

#include "CWebResources.h"

#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char index_html[] = {
#embed "../RealmWeb/Resources/index.html"
};
static const unsigned char icon_svg[] = {
#embed "../RealmWeb/Resources/icon.svg"
};
static const unsigned char style_css[] = {
#embed "../RealmWeb/Resources/style.css"
};
static const unsigned char main_js[] = {
#embed "../RealmWeb/Resources/main.js"
};
static const unsigned char api_js[] = {
#embed "../RealmWeb/Resources/api.js"
};
static const unsigned char dom_js[] = {
#embed "../RealmWeb/Resources/dom.js"
};
static const unsigned char live_js[] = {
#embed "../RealmWeb/Resources/live.js"
};
static const unsigned char object_js[] = {
#embed "../RealmWeb/Resources/object.js"
};
static const unsigned char query_js[] = {
#embed "../RealmWeb/Resources/query.js"
};
static const unsigned char schema_js[] = {
#embed "../RealmWeb/Resources/schema.js"
};
static const unsigned char table_js[] = {
#embed "../RealmWeb/Resources/table.js"
};
static const unsigned char values_js[] = {
#embed "../RealmWeb/Resources/values.js"
};

#define FILE(NAME, BYTES) {NAME, BYTES, sizeof BYTES}

static const struct cwebresources_file files[] = {
    FILE("index.html", index_html),
    FILE("icon.svg", icon_svg),
    FILE("style.css", style_css),
    FILE("main.js", main_js),
    FILE("api.js", api_js),
    FILE("dom.js", dom_js),
    FILE("live.js", live_js),
    FILE("object.js", object_js),
    FILE("query.js", query_js),
    FILE("schema.js", schema_js),
    FILE("table.js", table_js),
    FILE("values.js", values_js),
};

const struct cwebresources_file *cwebresources_file(size_t index) {
  return index < sizeof files / sizeof *files ? &files[index] : NULL;
}
