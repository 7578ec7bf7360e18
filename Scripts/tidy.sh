#!/usr/bin/env bash
# Project rules that no compiler checks: layers, forbidden constructs, where unsafe memory may be used, text format,
# test names in documents, generated files. Prints every violation with its location; exits 1 if there is one.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
program=${REALMFS:-$PWD/.build/release/realmfs}
breaches=0
# The last command of a pipe runs in this shell, so that it can count.
shopt -s lastpipe

# breach RULE: reads `file:line: text` lines and reports them.
breach() {
  local line
  while IFS= read -r line; do
    [ -n "$line" ] || continue
    echo "$line: $1" | sed -E 's/^(\S+:[0-9]+):\s*/\1: /'
    breaches=$((breaches + 1))
  done
}

# Code without comments and string literals, as `file:line:code`, so that words in texts do not count.
code() {
  find "$@" -name '*.swift' -print0 | sort -z | xargs -0 -r awk '
    FNR == 1 { inside = 0 }
    {
      line = $0
      count = gsub(/"""/, "\"\"\"", line)
      if (inside) { if (count % 2) inside = 0; next }
      if (count % 2) { inside = 1; sub(/""".*/, "", line) }
      gsub(/\\"/, "", line)
      gsub(/"[^"]*"/, "\"\"", line)
      sub(/\/\/.*/, "", line)
      print FILENAME ":" FNR ":" line
    }'
}

# ---- layers: a module imports only the layers below it ----

imports() { code "Sources/$1" | grep -E ':\s*(@\w+ )*((public|internal|package|private|fileprivate) )?import '; }
may_import() {
  local module=$1 allowed=$2
  imports "$module" | grep -vE "import ($allowed)\$" | breach "module $module may import only: ${allowed//|/, }"
}
may_import Threads 'Glibc'
system='Glibc|Synchronization|CLinux|Threads'
may_import RealmPages "$system|COpenSSL|CIntelDecimal"
may_import RealmJSON "$system|RealmPages|CIntelDecimal"
may_import RealmSwift "$system|RealmPages|RealmJSON|RealmQuery|RealmSync|Foundation|Dispatch|Swift"
may_import RealmNames "$system|RealmPages|RealmJSON|COpenSSL"
may_import FileTree "$system|RealmPages|RealmJSON|RealmNames|RealmQuery|RealmTransfer"
may_import FuseBridge "$system|FileTree|CFuse"
may_import RealmQuery "$system|RealmPages"
may_import RealmSync "Glibc|Synchronization|Threads|RealmPages|CTLS|CZlib"
may_import RealmTransfer "$system|RealmPages|RealmJSON|RealmNames|CSQLite|CXLSXWriter|CZlib"
may_import RealmReplica "$system|RealmPages|RealmJSON|RealmTransfer|CPostgres|COpenSSL"
may_import RealmWeb "$system|RealmPages|RealmJSON|RealmQuery|RealmTransfer|CMicroHTTPD|CWebResources"
may_import realmfs "$system|RealmPages|RealmJSON|RealmNames|FileTree|FuseBridge|RealmTransfer|RealmReplica|RealmQuery|\
RealmSync|RealmWeb"
code Sources/RealmPages/Node Sources/RealmPages/File | grep -wE 'Table|TableKey|Column|ColKey|ObjKey|Snapshot|Spec' |
  breach "Node/ and File/ must not depend on tables and versions"
code Sources/RealmPages/Tree | grep -wE 'Table|Snapshot|Realm' | breach "Tree/ must not depend on tables and versions"
code Sources | grep -E 'import Foundation' | grep -v '^Sources/RealmSwift/' | breach "sources use Glibc, not Foundation: start-up time and size"

# ---- forbidden constructs ----

code Sources | grep -E '\btry!' | breach "try! turns an error into a crash"
code Sources | grep -E '\bfatalError\(' | breach "data must not end the process"
code Sources | grep -E '[A-Za-z0-9_)\]]!([.,;:)\[ ]|$)' | grep -vE '!=|\bas!' | breach "no forced unwrapping"
code Sources | grep -E '\bas!' | breach "no forced casts"
code Sources | grep -E 'catch \{\s*\}' | breach "an empty catch hides an error"
grep -rnE '\btry\?' --include='*.swift' Sources | grep -vE '//' | while IFS= read -r line; do
  # The reason may also be on the line above.
  file=${line%%:*} number=${line#*:} && number=${number%%:*}
  sed -n "$((number - 1))p" "$file" | grep -q '//' || echo "$line"
done | breach "try? needs a comment that says why the loss is right"

code Sources | grep -E 'Mutex<.*->' | breach "a function in a generic container is wrapped at each look; put a structure around it"

# ---- English ----

comments() {
  grep -rnE '^ *//' --include='*.swift' --include='*.c' --include='*.h' Sources Tests Fuzz Benchmarks Examples
}
comments | grep -E '/// (What|Whether|Who|The same) ' | breach "begin with a noun phrase, a verb or \"True if\""
comments | grep -wiE 'whoever|nobody|somebody|no one' | breach "name the actor: reader, writer, process, kernel, caller"
comments | grep -iE '\b(stands? for|lets? go of|to be had|all the same|for good|is told|are told|anew)\b' |
  breach "use the usual words: represents, releases, available, still, permanently, returns, again"
comments | grep -E '\b(is|are) no [a-z]' | grep -viE 'there (is|are) no|(is|are) no (longer|larger|greater|more|smaller|less|older|newer)\b' |
  breach "write \"is not a\" for \"is no\""

# ---- unsafe memory: only in these places, each with its reason ----

declare -A unsafe_places=(
  [Sources/RealmPages/Coordination/]="memory that processes share, pthread primitives"
  [Sources/RealmPages/File/]="system calls, the mapping, decryption buffers"
  [Sources/RealmPages/Node/]="views of nodes in the mapping; bounds are checked when a view is made"
  [Sources/RealmPages/Table/MixedLeaf.swift]="the bytes of a value stored in a pair of words"
  [Sources/RealmPages/Table/ColumnTest.swift]="elements of an open leaf, in a loop that checks its bounds once"
  [Sources/RealmPages/Table/ObjectCursor.swift]="an element of an open leaf, by a row that was checked"
  [Sources/RealmPages/Table/LeafAppender.swift]="elements of a leaf that has room for them"
  [Sources/RealmPages/Table/SearchIndexEditor.swift]="texts of the snapshot, compared byte by byte"
  [Sources/RealmPages/Table/Value.swift]="the bytes of a value that a program owns, as a view"
  [Sources/RealmPages/Table/ValueOrder.swift]="bytes of values, compared; the interface of libintelrdfpmath"
  [Sources/RealmPages/Table/LeafEditor.swift]="the bytes of a value that is copied to a leaf"
  [Sources/RealmPages/Table/MixedEditor.swift]="the bytes of a value that is copied to a leaf"
  [Sources/RealmPages/Copy/NodeCopier.swift]="nodes as bytes to be written"
  [Sources/RealmPages/Copy/WorkRealm.swift]="passed on by a storage that wraps another"
  [Sources/RealmPages/Commit/Committer.swift]="numbers of the header as bytes"
  [Sources/RealmPages/Commit/NodeWriter.swift]="dirty nodes as bytes to be written"
  [Sources/RealmPages/Edit/GroupEditor.swift]="bytes at a stable address for the time of a call"
  [Sources/RealmPages/Edit/TableSchemaEditor.swift]="names that are copied to a leaf"
  [Sources/RealmPages/Version/Header.swift]="the first bytes of a file, to identify it"
  [Sources/RealmPages/Open/HeaderReader.swift]="the signature of a file"
  [Sources/RealmPages/Open/Realm.swift]="the entry point for bytes in memory"
  [Sources/RealmPages/Open/Branch.swift]="nodes built in an array"
  [Sources/RealmPages/Verify/LeafCheck.swift]="the bytes of elements, one by one"
  [Sources/RealmPages/Table/FullTextWords.swift]="a text of the snapshot, passed on unchanged"
  [Sources/RealmPages/Table/HeldValue.swift]="the bytes of a value that a program owns, as a view"
  [Sources/RealmPages/Table/IndexData.swift]="literals and texts as values"
  [Sources/RealmJSON/Text/OutputBuffer.swift]="the text buffer that all rendering appends to"
  [Sources/RealmJSON/Text/StringText.swift]="the bytes of a String, passed on as a span"
  [Sources/RealmNames/NameEscaping.swift]="the bytes of a String, passed on as a span; libcrypto's interface"
  [Sources/RealmSwift/Models/PropertyStorage.swift]="the storage of a property in an object, by the offset of its class"
  [Sources/RealmSwift/Queries/RLMIterator.swift]="objects whose class was checked when the walk began"
  [Sources/RealmSwift/Realm/Borrowed.swift]="references that are not counted"
  [Sources/RealmSwift/Realm/ManagedClass.swift]="references that are not counted"
  [Sources/RealmSwift/Models/ObjectBase.swift]="references that are not counted"
  [Sources/RealmSwift/Realm/OpenTransaction.swift]="the storage of a value that a class cannot hold otherwise"
  [Sources/RealmSwift/Schema/ClassDiscovery.swift]="the compiler's lists of types"
  [Sources/RealmSwift/Schema/ClassSchema.swift]="the compiler's lists of properties"
  [Sources/Threads/]="pthread primitives"
  [Sources/FuseBridge/]="libfuse's interface is made of pointers"
  [Sources/RealmQuery/TextMatch.swift]="texts of the snapshot, compared byte by byte"
  [Sources/RealmQuery/Operand.swift]="texts, passed on unchanged"
  [Sources/RealmQuery/ObjectSorter.swift]="the first bytes of a text"
  [Sources/RealmQuery/OrderItems.swift]="elements of an array of sufficient size"
  [Sources/RealmTransfer/Export/PlainText.swift]="the bytes of a text or binary, read within their bounds"
  [Sources/RealmTransfer/Export/CSVRenderer.swift]="the bytes of a text buffer, read within their bounds"
  [Sources/RealmTransfer/Export/SQLiteDatabase.swift]="the interface of libsqlite3"
  [Sources/RealmTransfer/Import/Tables/ZipStream.swift]="the interface of zlib"
  [Sources/RealmReplica/Connection/]="the interface of libpq; the buffer that all fields are appended to"
  [Sources/RealmReplica/Mapping/FieldEncoder.swift]="texts of the snapshot, read byte by byte"
  [Sources/RealmReplica/Mapping/JSONBText.swift]="the bytes of a text buffer, read within their bounds"
  [Sources/RealmReplica/Mapping/RowEncoder.swift]="fields of a row, passed on as bytes"
  [Sources/RealmReplica/Mapping/RowEncoder+Sending.swift]="fields of a row, passed on as bytes"
  [Sources/RealmReplica/Mapping/SHA256Digest.swift]="the interface of libcrypto"
  [Sources/RealmReplica/Following/Replicator+Rows.swift]="the buffer of rows, as bytes"
  [Sources/RealmReplica/Many/RealmFileSet.swift]="the interface of glob(3)"
  [Sources/RealmReplica/Following/Replicator.swift]="the bytes of a name that is hashed"
  [Sources/RealmTransfer/Export/SQLiteSink.swift]="texts that libsqlite3 reads without a copy"
  [Sources/RealmTransfer/Export/Spreadsheet.swift]="the interface of libxlsxwriter"
  [Sources/RealmSync/WebSocket/]="sockets and libssl"
  [Sources/RealmWeb/HTTP/]="the interface of libmicrohttpd"
  [Sources/RealmWeb/RealmBrowser.swift]="the interface of libmicrohttpd"
  [Sources/RealmWeb/API/WebAPI.swift]="names of embedded files"
  [Sources/RealmWeb/API/RowRenderer.swift]="the bytes of a text, searched for the end of a character"
  [Sources/RealmWeb/API/TextSearch.swift]="the bytes of a text around a place in it"
  [Sources/RealmWeb/API/Exports.swift]="system calls with C strings"
  [Sources/RealmSync/Protocol/Compression.swift]="the interface of zlib"
  [Sources/RealmTransfer/Export/FileOutput.swift]="write(2)"
  [Sources/realmfs/Mounting/PrivateMount.swift]="socketpair(2) and signal masks"
  [Sources/realmfs/Program/Interruption.swift]="the address of a signal handler"
  [Sources/realmfs/Program/System.swift]="system calls with C strings"
  [Sources/realmfs/Output/StandardOutput.swift]="write(2)"
  [Sources/realmfs/Keys/SecretBuffer.swift]="memory that is locked and wiped"
)
# The compiler requires the word `unsafe`. C calls that take a string or a buffer for their result, and bytes that are
# passed on unchanged, may use it anywhere. Everything else, and names of pointer types, only in the places above.
calls="access|chdir|chmod|clinux_\\w+|clock_gettime|dup|faccessat|fclose|fstat|fstatat|getc|getenv|getgrnam|getpwnam|getpwuid|lstat|mkdir|mkdirat"
calls+="|mkdtemp|mkfifo|open|openat|pclose|pipe|poll|popen|pread|read|readlinkat|rename|renameat|rmdir|setenv|SHA1|SHA256|stat|statvfs|strtod|tmpfile"
calls+="|unlink|unlinkat|unsetenv|vsnprintf|write"
passed_on='\bString\((c|validatingC)String:|\.span\.bytes|\bunsafeBytes\b|\bwithUnsafeBytes|\bunsafeLoad'
{
  code Sources | grep -E 'Unsafe(Mutable)?(Raw)?(Buffer)?Pointer|Unmanaged|unsafeBitCast|withMemoryRebound'
  code Sources | grep -E '(^|[^@(])\bunsafe\b' | grep -vE "\b($calls)\(|$passed_on"
} | sort -u |
  while IFS= read -r line; do
    allowed=
    for place in "${!unsafe_places[@]}"; do [[ $line == "$place"* ]] && allowed=1; done
    [ -n "$allowed" ] || echo "$line"
  done | breach "unsafe memory outside the places that Scripts/tidy.sh lists"

# ---- form of the text ----

mapfile -t texts < <(git ls-files --cached --others --exclude-standard 2>/dev/null |
  grep -E '\.(swift|sh|py|c|h|md|yml)$|^Makefile$|^\.ci/' | sort)
for text in "${texts[@]}"; do
  [ -f "$text" ] || continue
  if [[ $text == *.swift || $text == *.c || $text == *.h ]]; then
    awk -v file="$text" 'length($0) > 120 {print file ":" FNR ": " length($0) " columns"}' "$text"
  fi
  [[ $text == Makefile ]] || grep -nP '\t' "$text" | sed "s|^\([0-9]*\):.*|$text:\1: tab|"
  grep -nP '[ \t]+$' "$text" | sed "s|^\([0-9]*\):.*|$text:\1: trailing blank|"
  [ -z "$(tail -c1 "$text")" ] || echo "$text:1: no newline at the end"
done | breach "form"
find Sources Tests -name '*.swift' | while IFS= read -r file; do
  head -1 "$file" | grep -q '^//' || echo "$file:1"
done | breach "a file opens with a comment on its job"

# ---- comments cite sections that exist ----

python3 Scripts/citations.py | breach "a citation of docs/format that leads nowhere"

# ---- documents name tests that exist ----

for text in docs/SEMANTICS.md docs/COMMANDS.md; do
  [ -f "$text" ] || continue
  # `[t: mount_lifecycle]`, `[t: NameEscapingTests]` or `[t: NameEscapingTests.strings]`: an end-to-end script, a word in a
  # Swift test, or a function in the file of its suite.
  grep -noE '\[t: [^]]+\]' "$text" | while IFS=: read -r number _ ids; do
    for id in $(tr -d '],' <<<"$ids"); do
      case $id in
        *.*) find Tests -name "${id%.*}.swift" -exec grep -qE "func ${id#*.}\(" {} \; -print | grep -q . ;;
        *) [ -f "Tests/e2e/$id.sh" ] || grep -rqw --include='*.swift' -- "$id" Tests ;;
      esac || echo "$text:$number: test $id"
    done
  done | breach "a statement names a test that does not exist"
  grep -nE '\[t:[^]]*$' "$text" | sed "s|^\([0-9]*\):.*|$text:\1: [t:|" |
    breach "the names of tests after a statement are in one line"
done

if [ -f docs/TROUBLESHOOTING.md ]; then
  # The messages quoted in its tables exist: each part between words in capitals is in the sources, except
  # `No space left on device`, a message of the system.
  grep -nE '^\| `' docs/TROUBLESHOOTING.md | grep -v 'No space left on device' |
    while IFS=: read -r number line; do
      message=${line#| \`} && message=${message%%\` *}
      sed -E "s/\b[A-Z]{4,}\b|\bDIR\b|\bREF\b|\b(OUT|N)\b/\n/g" <<<"$message" |
        while IFS= read -r part; do
          part=$(sed -E 's/^[ ;:]+|[ ;:]+$//g' <<<"$part")
          [ ${#part} -lt 5 ] || grep -rqF -- "$part" Sources ||
            echo "docs/TROUBLESHOOTING.md:$number: message '$part'"
        done
    done | breach "a message that the program does not have"
fi

python3 Scripts/planted.py --check 2>&1 | grep -vx 'planted: [0-9]* bugs apply' | breach "Tests/Planted"

# ---- generated files ----

if [ -x "$program" ]; then
  same() {
    local file=$1
    shift
    "$program" help "$@" | cmp -s - "$file" || echo "$file:1"
  }
  { same man/realmfs.1 --man
    same man/realmfs-mount.8 --man mount
    same completions/realmfs.bash --completions bash
    same completions/_realmfs --completions zsh
    same completions/realmfs.fish --completions fish
  } | breach "differs from the program's output; run 'make man completions'"
else
  echo "tidy: no release build at $program: generated files were not compared" >&2
  breaches=$((breaches + 1))
fi

if [ $breaches -gt 0 ]; then
  echo "tidy: $breaches breaches"
  exit 1
fi
echo "tidy: all rules are kept"
