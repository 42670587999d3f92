# shellcheck shell=bash
# The output of the steps to the runner. The runner may read a line of the log as a command, so foreign text is shown with commands stopped.

set -Eeuo pipefail
# A step that breaks could not judge, so it must not look like a failure of the work.
trap 'annotate error "the step ${0##*/} stopped at line $LINENO"; exit 2' ERR

# The longest text of a program that is shown, in bytes.
readonly MAX_SHOWN_BYTES=1000000
# The same for the summary. The runner accepts one MiB for each step.
readonly MAX_SUMMARY_BYTES=100000
readonly MAX_ANNOTATION_BYTES=2000

random() {
  od -An -N16 -tx1 /dev/urandom | tr -d ' \n'
}

# annotate LEVEL TEXT
annotate() {
  local text=$2
  text=${text//'%'/%25}
  text=${text//$'\r'/%0D}
  text=${text//$'\n'/%0A}
  printf '::%s title=proofmark::%s\n' "$1" "$text"
}

refuse() {
  annotate error "$1"
  exit 2
}

# show FILE: prints it so that no line of it is a command.
show() {
  [ -s "$1" ] || return 0
  local token
  token=$(random)
  printf '::stop-commands::%s\n' "$token"
  head -c "$MAX_SHOWN_BYTES" -- "$1"
  printf '\n::%s::\n' "$token"
}

# output NAME VALUE
output() {
  local end
  end=$(random)
  printf '%s<<%s\n%s\n%s\n' "$1" "$end" "$2" "$end" >> "$GITHUB_OUTPUT"
}

# summarize TEXT: a paragraph of Markdown.
summarize() {
  printf '\n%s\n' "$1" >> "$GITHUB_STEP_SUMMARY"
}

# summarize_file HEADING FILE: the file unchanged, and not read as Markdown or HTML.
summarize_file() {
  local text
  text=$(head -c "$MAX_SUMMARY_BYTES" -- "$2" | tr -d '\000' | sed 's/&/\&amp;/g; s/</\&lt;/g; s/>/\&gt;/g')
  summarize "### proofmark $1"$'\n\n<pre>\n'"$text"$'\n</pre>'
}

# Runs Proofmark, as root where only root can isolate. Root gets the caller's PATH, which has the interpreters of the work.
proofmark() {
  if [ "$AS_ROOT" = true ]; then
    sudo --non-interactive --preserve-env=HOME,PROOFMARK_HOME,PROOFMARK_STORE,PROOFMARK_PASSPHRASE,GITHUB_STEP_SUMMARY,XDG_CACHE_HOME,npm_config_cache \
      -- env "PATH=$PATH" "$PROOFMARK" "$@"
  else
    "$PROOFMARK" "$@"
  fi
}

# judge ARGUMENTS…: runs Proofmark, and sets `code` to its exit code. Its standard output may hold annotations.
# shellcheck disable=SC2034  # Callers read `code`.
judge() {
  code=0
  proofmark "$@" 2> "$FOLDER/messages" || code=$?
  show "$FOLDER/messages"
  # Proofmark does not print an annotation for an error that ends it. Notes may come before the error.
  local error
  error=$(sed -n '/^error: /,$p' "$FOLDER/messages" | head -c "$MAX_ANNOTATION_BYTES") || true
  [ "$code" -le 1 ] || [ -z "$error" ] || annotate error "${error#error: }"
}

# The result that an exit code means. Other codes than those of Proofmark, as when it could not be started, are errors.
result_of() {
  case $1 in
    0) echo pass ;;
    1) echo fail ;;
    *) echo error ;;
  esac
}

# worse RESULT RESULT: the worse of two, of which either may be empty.
worse() {
  local result
  for result in error fail partial pass; do
    if [ "$1" = "$result" ] || [ "$2" = "$result" ]; then
      echo "$result"
      return
    fi
  done
}

# lines_of TEXT: sets `lines` to its lines without blanks around them, and without empty ones.
lines_of() {
  local line
  lines=()
  while IFS= read -r line; do
    line=${line#"${line%%[![:space:]]*}"}
    line=${line%"${line##*[![:space:]]}"}
    [ -z "$line" ] || lines+=("$line")
  done <<< "$1"
}

# inside INPUT PATH: refuses a path with a link in the checkout that leads out of it, to files that only the runner or root may read. The
# path is followed as the system does it, one name after the other: `link/..` is not the folder that has the link.
inside() {
  local root here='' next part rest=$2
  root=$(pwd -P)
  [[ $2 = /* ]] || here=$root
  while [ -n "$rest" ]; do
    part=${rest%%/*}
    rest=${rest#"$part"}
    rest=${rest#/}
    case $part in
      '' | .) continue ;;
      ..) here=${here%/*} && continue ;;
    esac
    next=$here/$part
    here=$next
    [ -L "$next" ] || continue
    # A name may end with a newline, which `$( )` would remove.
    IFS= read -r -d '' here < <(realpath -mz -- "$next")
    if [[ $next/ = "$root"/* && $here/ != "$root"/* ]]; then
      refuse "the input \`$1\` names \`$2\`, where a link leads out of the checkout"
    fi
  done
}

# files_of INPUT PATTERNS: sets `files` to what the patterns match. The shell only expands patterns, and does not run anything in them.
files_of() {
  local pattern found lines IFS=
  files=()
  shopt -s nullglob globstar
  lines_of "$2"
  for pattern in "${lines[@]}"; do
    if [ -e "$pattern" ]; then
      found=("$pattern")
    else
      # shellcheck disable=SC2206  # With an empty IFS this expands the pattern and splits nothing.
      found=($pattern)
    fi
    [ ${#found[@]} -gt 0 ] || refuse "the input \`$1\` names \`$pattern\`, which matches no file"
    # A name that begins with a dash would be an option.
    files+=("${found[@]/#-/./-}")
  done
  for found in "${files[@]}"; do
    inside "$1" "$found"
  done
}
