# Written by 'realmfs help --completions bash' from the program's option table; do not edit.
_realmfs() {
  local cur=$2 prev=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]} kind
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "mount umount tx exec status info schema class property cat export import query set insert delete undo versions deleted diff merge watch browse mcp create check seal backup compact encrypt decrypt rekey upgrade convert recover pull replicate verify-replica version help --help --version" -- "$cur"))
    return
  fi
  [ "$prev" = = ] && prev=${COMP_WORDS[COMP_CWORD-2]}
  case $command:$prev in
    mount:-o|mount:--options) COMPREPLY=($(compgen -W "class= json= show_control uid= gid= umask= fmask= dmask= dotnet_guids nonempty ro frozen rw write= create_classes group_commit= lock_timeout= query_timeout= busy_poll= trust_owner allow_other allow_root default_permissions auto_unmount fsname= nosuid nodev noexec suid dev exec atime noatime" -- "$cur")); return ;;
    mount:--json-style) COMPREPLY=($(compgen -W "plain ejson canonical" -- "$cur")); return ;;
    exec:-o|exec:--options) COMPREPLY=($(compgen -W "class= json= show_control uid= gid= umask= fmask= dmask= dotnet_guids nonempty ro frozen rw write= create_classes group_commit= lock_timeout= query_timeout= busy_poll= trust_owner allow_other allow_root default_permissions auto_unmount fsname= nosuid nodev noexec suid dev exec atime noatime" -- "$cur")); return ;;
    exec:--json-style) COMPREPLY=($(compgen -W "plain ejson canonical" -- "$cur")); return ;;
    schema:--format) COMPREPLY=($(compgen -W "json swift kotlin csharp typescript dot mermaid svg" -- "$cur")); return ;;
    cat:-o|cat:--options) COMPREPLY=($(compgen -W "json= dotnet_guids" -- "$cur")); return ;;
    cat:--format) COMPREPLY=($(compgen -W "jsonl json table record csv tsv" -- "$cur")); return ;;
    cat:--json-style) COMPREPLY=($(compgen -W "plain ejson canonical" -- "$cur")); return ;;
    export:--format) COMPREPLY=($(compgen -W "jsonl json csv tsv sqlite xlsx" -- "$cur")); return ;;
    export:--decimal) COMPREPLY=($(compgen -W "point comma" -- "$cur")); return ;;
    export:--json-style) COMPREPLY=($(compgen -W "plain ejson canonical" -- "$cur")); return ;;
    import:--format) COMPREPLY=($(compgen -W "jsonl json csv tsv sqlite xlsx" -- "$cur")); return ;;
    import:--decimal) COMPREPLY=($(compgen -W "point comma" -- "$cur")); return ;;
    query:--format) COMPREPLY=($(compgen -W "jsonl json table record csv tsv" -- "$cur")); return ;;
    query:--json-style) COMPREPLY=($(compgen -W "plain ejson canonical" -- "$cur")); return ;;
    deleted:--format) COMPREPLY=($(compgen -W "jsonl json table record csv tsv" -- "$cur")); return ;;
    deleted:--json-style) COMPREPLY=($(compgen -W "plain ejson canonical" -- "$cur")); return ;;
    merge:--prefer) COMPREPLY=($(compgen -W "ours theirs" -- "$cur")); return ;;
    help:--completions) COMPREPLY=($(compgen -W "bash zsh fish" -- "$cur")); return ;;
  esac
  case $command:$cur in
    mount:-*) COMPREPLY=($(compgen -W "-o --options --read-only --immutable --class --default --in-memory --seed --schema --trash --migrate --delete-if-migration-needed --max-versions --fifo-dir --json-style --key-file --key-fd --key-command --key-env --sync --mirror --query --user --token-file --token-command --ca-file --timeout --compact-on-launch --upgrade -f --foreground -d --debug -s --single-thread --trust-owner --as-empty --dotnet-guids -v --verbose -h --help" -- "$cur")); return ;;
    umount:-*) COMPREPLY=($(compgen -W "--discard -l --lazy -h --help" -- "$cur")); return ;;
    tx:-*) COMPREPLY=($(compgen -W "-h --help" -- "$cur")); return ;;
    exec:-*) COMPREPLY=($(compgen -W "-o --options --read-only --immutable --tx --class --json-style --key-file --key-fd --key-command --key-env --trust-owner --as-empty -v --verbose -h --help" -- "$cur")); return ;;
    status:-*) COMPREPLY=($(compgen -W "--json -h --help" -- "$cur")); return ;;
    info:-*) COMPREPLY=($(compgen -W "--long --key-file --key-fd --key-command --key-env --json -v --verbose -h --help" -- "$cur")); return ;;
    schema:-*) COMPREPLY=($(compgen -W "--class --format --version --key-file --key-fd --key-command --key-env --as-empty -v --verbose -h --help" -- "$cur")); return ;;
    class:-*) COMPREPLY=($(compgen -W "--key-file --key-fd --key-command --key-env --json --trust-owner --as-empty --dry-run --primary-key --embedded --asymmetric --force -q --quiet -v --verbose -h --help" -- "$cur")); return ;;
    property:-*) COMPREPLY=($(compgen -W "--key-file --key-fd --key-command --key-env --json --trust-owner --as-empty --dry-run --force -q --quiet -v --verbose -h --help" -- "$cur")); return ;;
    cat:-*) COMPREPLY=($(compgen -W "-o --options --version --format --columns --where --sort --limit --json-style --key-file --key-fd --key-command --key-env --as-empty --dotnet-guids -v --verbose -h --help" -- "$cur")); return ;;
    export:-*) COMPREPLY=($(compgen -W "--class --format --delimiter --decimal --where --version --verify --json-style --key-file --key-fd --key-command --key-env --json --as-empty --dotnet-guids -q --quiet -v --verbose -h --help" -- "$cur")); return ;;
    import:-*) COMPREPLY=($(compgen -W "--class --format --encoding --delimiter --decimal --batch --skip-bad --key-file --key-fd --key-command --key-env --json --trust-owner --as-empty --dry-run -q --quiet -v --verbose -h --help" -- "$cur")); return ;;
    query:-*) COMPREPLY=($(compgen -W "--version --format --arg --columns --where --sort --limit --count --sum --avg --min --max --group-by --json-style --key-file --key-fd --key-command --key-env --as-empty --dotnet-guids -v --verbose -h --help" -- "$cur")); return ;;
    set:-*) COMPREPLY=($(compgen -W "--key-file --key-fd --key-command --key-env --json --trust-owner --as-empty --dry-run -q --quiet -v --verbose -h --help" -- "$cur")); return ;;
    insert:-*) COMPREPLY=($(compgen -W "--key-file --key-fd --key-command --key-env --json --trust-owner --as-empty --dry-run -q --quiet -v --verbose -h --help" -- "$cur")); return ;;
    delete:-*) COMPREPLY=($(compgen -W "--arg --key-file --key-fd --key-command --key-env --json --trust-owner --as-empty --dry-run -y --yes -q --quiet -v --verbose -h --help" -- "$cur")); return ;;
    undo:-*) COMPREPLY=($(compgen -W "--key-file --key-fd --key-command --key-env --json --trust-owner --as-empty --dry-run --redo --list -y --yes -q --quiet -v --verbose -h --help" -- "$cur")); return ;;
    versions:-*) COMPREPLY=($(compgen -W "--changes --immutable --key-file --key-fd --key-command --key-env --json --as-empty -v --verbose -h --help" -- "$cur")); return ;;
    deleted:-*) COMPREPLY=($(compgen -W "--restore --former --hash --immutable --format --json-style --key-file --key-fd --key-command --key-env --json --dry-run -q --quiet -v --verbose -h --help" -- "$cur")); return ;;
    diff:-*) COMPREPLY=($(compgen -W "--class --previous --version --key-file --key-fd --key-command --key-env --json -v --verbose -h --help" -- "$cur")); return ;;
    merge:-*) COMPREPLY=($(compgen -W "--key-file --key-fd --key-command --key-env --json -o --output --prefer --conflicts --force -q --quiet -v --verbose -h --help" -- "$cur")); return ;;
    watch:-*) COMPREPLY=($(compgen -W "--exec --diff --changes --since --key-file --key-fd --key-command --key-env --json --as-empty -v --verbose -h --help" -- "$cur")); return ;;
    browse:-*) COMPREPLY=($(compgen -W "--immutable --listen --write --idle-timeout --open --static --key-file --key-fd --key-command --key-env -v --verbose -h --help" -- "$cur")); return ;;
    mcp:-*) COMPREPLY=($(compgen -W "--write --key-file --key-fd --key-command --key-env --trust-owner -v --verbose -h --help" -- "$cur")); return ;;
    create:-*) COMPREPLY=($(compgen -W "--schema --key-file --key-fd --key-command --key-env --dry-run -v --verbose -h --help" -- "$cur")); return ;;
    check:-*) COMPREPLY=($(compgen -W "--key-file --key-fd --key-command --key-env --json --limit --seal -v --verbose -h --help" -- "$cur")); return ;;
    seal:-*) COMPREPLY=($(compgen -W "--key-file --key-fd --key-command --key-env --json -v --verbose -h --help" -- "$cur")); return ;;
    backup:-*) COMPREPLY=($(compgen -W "--key-file --key-fd --key-command --key-env --json --as-empty -v --verbose -h --help" -- "$cur")); return ;;
    compact:-*) COMPREPLY=($(compgen -W "--key-file --key-fd --key-command --key-env --if --no-verify --json --as-empty -v --verbose -h --help" -- "$cur")); return ;;
    encrypt:-*) COMPREPLY=($(compgen -W "--key-file --key-fd --key-command --key-env --no-verify --json --as-empty -v --verbose -h --help" -- "$cur")); return ;;
    decrypt:-*) COMPREPLY=($(compgen -W "--key-file --key-fd --key-command --key-env --no-verify --json --as-empty -v --verbose -h --help" -- "$cur")); return ;;
    rekey:-*) COMPREPLY=($(compgen -W "--key-file --key-fd --key-command --key-env --new-key-file --new-key-fd --new-key-command --new-key-env --no-verify --json --as-empty -v --verbose -h --help" -- "$cur")); return ;;
    upgrade:-*) COMPREPLY=($(compgen -W "--key-file --key-fd --key-command --key-env --backup-dir --no-verify --json --as-empty --dry-run -v --verbose -h --help" -- "$cur")); return ;;
    convert:-*) COMPREPLY=($(compgen -W "--key-file --key-fd --key-command --key-env --local --no-verify --json --as-empty -v --verbose -h --help" -- "$cur")); return ;;
    recover:-*) COMPREPLY=($(compgen -W "--schema --key-file --key-fd --key-command --key-env --no-verify --json --offset -v --verbose -h --help" -- "$cur")); return ;;
    pull:-*) COMPREPLY=($(compgen -W "--key-file --key-fd --key-command --key-env --user --token-file --token-command --ca-file --timeout --json -q --quiet -v --verbose -h --help" -- "$cur")); return ;;
    replicate:-*) COMPREPLY=($(compgen -W "--key-file --key-fd --key-command --key-env --trust-owner --as-empty --source-of --schema --once --repair --accept-replacement --lag --partition --connections -q --quiet -v --verbose -h --help" -- "$cur")); return ;;
    verify-replica:-*) COMPREPLY=($(compgen -W "--key-file --key-fd --key-command --key-env --json --trust-owner --as-empty --source-of --schema -v --verbose -h --help" -- "$cur")); return ;;
    version:-*) COMPREPLY=($(compgen -W "--json -h --help" -- "$cur")); return ;;
    help:-*) COMPREPLY=($(compgen -W "--completions -h --help" -- "$cur")); return ;;
    help:*) COMPREPLY=($(compgen -W "mount umount tx exec status info schema class property cat export import query set insert delete undo versions deleted diff merge watch browse mcp create check seal backup compact encrypt decrypt rekey upgrade convert recover pull replicate verify-replica version help" -- "$cur")); return ;;
  esac
  {
    IFS= read -r -d '' kind && mapfile -d '' -t COMPREPLY
  } < <(command realmfs __complete bash "$cur" "${COMP_LINE:0:COMP_POINT}" 2>/dev/null)
  case $kind in
    files) compopt -o default ;;
    directories) compopt -o dirnames ;;
    names) [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *[=/] ]] && compopt -o nospace ;;
  esac
  return 0
}
complete -F _realmfs realmfs
