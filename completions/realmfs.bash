# Written by 'realmfs help --completions bash' from the program's option table; do not edit.
_realmfs() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]}
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "mount umount info schema cat export import query diff watch create check backup compact encrypt decrypt rekey upgrade convert recover version help --help --version" -- "$cur"))
    return
  fi
  case $command:$prev in
    mount:-o|mount:--options) COMPREPLY=($(compgen -W "class= json= show_control uid= gid= umask= fmask= dmask= ro rw write= group_commit= lock_timeout= allow_other allow_root default_permissions auto_unmount fsname= nosuid nodev noexec suid dev exec atime noatime" -- "$cur")); return ;;
    mount:--class) :; return ;;
    mount:--in-memory) :; return ;;
    mount:--seed) COMPREPLY=($(compgen -f -- "$cur")); return ;;
    mount:--schema) COMPREPLY=($(compgen -f -- "$cur")); return ;;
    mount:--migrate) :; return ;;
    mount:--max-versions) :; return ;;
    mount:--fifo-dir) COMPREPLY=($(compgen -d -- "$cur")); return ;;
    mount:--json-style) COMPREPLY=($(compgen -W "plain ejson canonical" -- "$cur")); return ;;
    mount:--key-file) COMPREPLY=($(compgen -f -- "$cur")); return ;;
    mount:--key-fd) :; return ;;
    mount:--key-command) :; return ;;
    mount:--key-env) :; return ;;
    mount:--compact-on-launch) :; return ;;
    info:--key-file) COMPREPLY=($(compgen -f -- "$cur")); return ;;
    info:--key-fd) :; return ;;
    info:--key-command) :; return ;;
    info:--key-env) :; return ;;
    schema:--class) :; return ;;
    schema:--format) COMPREPLY=($(compgen -W "json swift kotlin csharp typescript" -- "$cur")); return ;;
    schema:--key-file) COMPREPLY=($(compgen -f -- "$cur")); return ;;
    schema:--key-fd) :; return ;;
    schema:--key-command) :; return ;;
    schema:--key-env) :; return ;;
    cat:-o|cat:--options) COMPREPLY=($(compgen -W "json=" -- "$cur")); return ;;
    cat:--json-style) COMPREPLY=($(compgen -W "plain ejson canonical" -- "$cur")); return ;;
    cat:--key-file) COMPREPLY=($(compgen -f -- "$cur")); return ;;
    cat:--key-fd) :; return ;;
    cat:--key-command) :; return ;;
    cat:--key-env) :; return ;;
    export:--class) :; return ;;
    export:--format) COMPREPLY=($(compgen -W "jsonl json csv sqlite" -- "$cur")); return ;;
    export:--where) :; return ;;
    export:--json-style) COMPREPLY=($(compgen -W "plain ejson canonical" -- "$cur")); return ;;
    export:--key-file) COMPREPLY=($(compgen -f -- "$cur")); return ;;
    export:--key-fd) :; return ;;
    export:--key-command) :; return ;;
    export:--key-env) :; return ;;
    import:--class) :; return ;;
    import:--format) COMPREPLY=($(compgen -W "jsonl json csv" -- "$cur")); return ;;
    import:--batch) :; return ;;
    import:--skip-bad) COMPREPLY=($(compgen -f -- "$cur")); return ;;
    import:--key-file) COMPREPLY=($(compgen -f -- "$cur")); return ;;
    import:--key-fd) :; return ;;
    import:--key-command) :; return ;;
    import:--key-env) :; return ;;
    query:--json-style) COMPREPLY=($(compgen -W "plain ejson canonical" -- "$cur")); return ;;
    query:--key-file) COMPREPLY=($(compgen -f -- "$cur")); return ;;
    query:--key-fd) :; return ;;
    query:--key-command) :; return ;;
    query:--key-env) :; return ;;
    diff:--class) :; return ;;
    diff:--key-file) COMPREPLY=($(compgen -f -- "$cur")); return ;;
    diff:--key-fd) :; return ;;
    diff:--key-command) :; return ;;
    diff:--key-env) :; return ;;
    watch:--exec) :; return ;;
    watch:--key-file) COMPREPLY=($(compgen -f -- "$cur")); return ;;
    watch:--key-fd) :; return ;;
    watch:--key-command) :; return ;;
    watch:--key-env) :; return ;;
    create:--schema) COMPREPLY=($(compgen -f -- "$cur")); return ;;
    create:--key-file) COMPREPLY=($(compgen -f -- "$cur")); return ;;
    create:--key-fd) :; return ;;
    create:--key-command) :; return ;;
    create:--key-env) :; return ;;
    check:--key-file) COMPREPLY=($(compgen -f -- "$cur")); return ;;
    check:--key-fd) :; return ;;
    check:--key-command) :; return ;;
    check:--key-env) :; return ;;
    check:--limit) :; return ;;
    backup:--key-file) COMPREPLY=($(compgen -f -- "$cur")); return ;;
    backup:--key-fd) :; return ;;
    backup:--key-command) :; return ;;
    backup:--key-env) :; return ;;
    compact:--key-file) COMPREPLY=($(compgen -f -- "$cur")); return ;;
    compact:--key-fd) :; return ;;
    compact:--key-command) :; return ;;
    compact:--key-env) :; return ;;
    compact:--if) :; return ;;
    encrypt:--key-file) COMPREPLY=($(compgen -f -- "$cur")); return ;;
    encrypt:--key-fd) :; return ;;
    encrypt:--key-command) :; return ;;
    encrypt:--key-env) :; return ;;
    decrypt:--key-file) COMPREPLY=($(compgen -f -- "$cur")); return ;;
    decrypt:--key-fd) :; return ;;
    decrypt:--key-command) :; return ;;
    decrypt:--key-env) :; return ;;
    rekey:--key-file) COMPREPLY=($(compgen -f -- "$cur")); return ;;
    rekey:--key-fd) :; return ;;
    rekey:--key-command) :; return ;;
    rekey:--key-env) :; return ;;
    rekey:--new-key-file) COMPREPLY=($(compgen -f -- "$cur")); return ;;
    rekey:--new-key-fd) :; return ;;
    rekey:--new-key-command) :; return ;;
    rekey:--new-key-env) :; return ;;
    upgrade:--key-file) COMPREPLY=($(compgen -f -- "$cur")); return ;;
    upgrade:--key-fd) :; return ;;
    upgrade:--key-command) :; return ;;
    upgrade:--key-env) :; return ;;
    upgrade:--backup-dir) COMPREPLY=($(compgen -d -- "$cur")); return ;;
    convert:--key-file) COMPREPLY=($(compgen -f -- "$cur")); return ;;
    convert:--key-fd) :; return ;;
    convert:--key-command) :; return ;;
    convert:--key-env) :; return ;;
    recover:--key-file) COMPREPLY=($(compgen -f -- "$cur")); return ;;
    recover:--key-fd) :; return ;;
    recover:--key-command) :; return ;;
    recover:--key-env) :; return ;;
    help:--completions) COMPREPLY=($(compgen -W "bash zsh fish" -- "$cur")); return ;;
  esac
  case $command:$cur in
    mount:-*) COMPREPLY=($(compgen -W "-o --options --read-only --immutable --class --default --in-memory --seed --schema --migrate --delete-if-migration-needed --max-versions --fifo-dir --json-style --key-file --key-fd --key-command --key-env --compact-on-launch --upgrade -f --foreground -d --debug -s --single-thread -v --verbose -h --help" -- "$cur")); return ;;
    umount:-*) COMPREPLY=($(compgen -W "-l --lazy -h --help" -- "$cur")); return ;;
    info:-*) COMPREPLY=($(compgen -W "--key-file --key-fd --key-command --key-env --json -v --verbose -h --help" -- "$cur")); return ;;
    schema:-*) COMPREPLY=($(compgen -W "--class --format --key-file --key-fd --key-command --key-env -v --verbose -h --help" -- "$cur")); return ;;
    cat:-*) COMPREPLY=($(compgen -W "-o --options --json-style --key-file --key-fd --key-command --key-env -v --verbose -h --help" -- "$cur")); return ;;
    export:-*) COMPREPLY=($(compgen -W "--class --format --where --json-style --key-file --key-fd --key-command --key-env -v --verbose -h --help" -- "$cur")); return ;;
    import:-*) COMPREPLY=($(compgen -W "--class --format --batch --skip-bad --key-file --key-fd --key-command --key-env --json -v --verbose -h --help" -- "$cur")); return ;;
    query:-*) COMPREPLY=($(compgen -W "--count --json-style --key-file --key-fd --key-command --key-env -v --verbose -h --help" -- "$cur")); return ;;
    diff:-*) COMPREPLY=($(compgen -W "--class --previous --key-file --key-fd --key-command --key-env --json -v --verbose -h --help" -- "$cur")); return ;;
    watch:-*) COMPREPLY=($(compgen -W "--exec --key-file --key-fd --key-command --key-env --json -v --verbose -h --help" -- "$cur")); return ;;
    create:-*) COMPREPLY=($(compgen -W "--schema --key-file --key-fd --key-command --key-env -v --verbose -h --help" -- "$cur")); return ;;
    check:-*) COMPREPLY=($(compgen -W "--key-file --key-fd --key-command --key-env --json --limit -v --verbose -h --help" -- "$cur")); return ;;
    backup:-*) COMPREPLY=($(compgen -W "--key-file --key-fd --key-command --key-env --json -v --verbose -h --help" -- "$cur")); return ;;
    compact:-*) COMPREPLY=($(compgen -W "--key-file --key-fd --key-command --key-env --if --json -v --verbose -h --help" -- "$cur")); return ;;
    encrypt:-*) COMPREPLY=($(compgen -W "--key-file --key-fd --key-command --key-env --json -v --verbose -h --help" -- "$cur")); return ;;
    decrypt:-*) COMPREPLY=($(compgen -W "--key-file --key-fd --key-command --key-env --json -v --verbose -h --help" -- "$cur")); return ;;
    rekey:-*) COMPREPLY=($(compgen -W "--key-file --key-fd --key-command --key-env --new-key-file --new-key-fd --new-key-command --new-key-env --json -v --verbose -h --help" -- "$cur")); return ;;
    upgrade:-*) COMPREPLY=($(compgen -W "--key-file --key-fd --key-command --key-env --backup-dir --json -v --verbose -h --help" -- "$cur")); return ;;
    convert:-*) COMPREPLY=($(compgen -W "--key-file --key-fd --key-command --key-env --local --json -v --verbose -h --help" -- "$cur")); return ;;
    recover:-*) COMPREPLY=($(compgen -W "--key-file --key-fd --key-command --key-env --json -v --verbose -h --help" -- "$cur")); return ;;
    version:-*) COMPREPLY=($(compgen -W "--json -h --help" -- "$cur")); return ;;
    help:-*) COMPREPLY=($(compgen -W "--completions -h --help" -- "$cur")); return ;;
  esac
  case $command in
    mount) COMPREPLY=($(compgen -d -- "$cur")) ;;
    umount) COMPREPLY=($(compgen -d -- "$cur")) ;;
    info) COMPREPLY=($(compgen -f -- "$cur")) ;;
    schema) COMPREPLY=($(compgen -f -- "$cur")) ;;
    cat) COMPREPLY=($(compgen -f -- "$cur")) ;;
    export) COMPREPLY=($(compgen -f -- "$cur")) ;;
    import) COMPREPLY=($(compgen -f -- "$cur")) ;;
    query) COMPREPLY=($(compgen -f -- "$cur")) ;;
    diff) COMPREPLY=($(compgen -f -- "$cur")) ;;
    watch) COMPREPLY=($(compgen -f -- "$cur")) ;;
    create) COMPREPLY=($(compgen -f -- "$cur")) ;;
    check) COMPREPLY=($(compgen -f -- "$cur")) ;;
    backup) COMPREPLY=($(compgen -f -- "$cur")) ;;
    compact) COMPREPLY=($(compgen -f -- "$cur")) ;;
    encrypt) COMPREPLY=($(compgen -f -- "$cur")) ;;
    decrypt) COMPREPLY=($(compgen -f -- "$cur")) ;;
    rekey) COMPREPLY=($(compgen -f -- "$cur")) ;;
    upgrade) COMPREPLY=($(compgen -f -- "$cur")) ;;
    convert) COMPREPLY=($(compgen -f -- "$cur")) ;;
    recover) COMPREPLY=($(compgen -f -- "$cur")) ;;
    help) COMPREPLY=($(compgen -W "mount umount info schema cat export import query diff watch create check backup compact encrypt decrypt rekey upgrade convert recover version help" -- "$cur")) ;;
  esac
}
complete -o filenames -F _realmfs realmfs
