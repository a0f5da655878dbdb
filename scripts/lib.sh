# Shared by scripts/demo, scripts/test and .ci/run: where the repository is, and its .venv.
# To be sourced by bash with `set -euo pipefail`.

root=$(CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd -P)
python="$root/.venv/bin/python"

# Modules of another environment must not leak into ours.
unset PYTHONHOME PYTHONPATH

# Prints each argument on a line of its own, on stderr.
say() {
  printf '%s\n' "$@" >&2
}

die() {
  say "$@"
  exit 1
}

# Prints the first interpreter that is new enough; PYTHON=python3.13 chooses one.
find_python() {
  local candidate
  for candidate in ${PYTHON:-python3 python3.13 python3.12 python3.11 python}; do
    if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
      printf '%s\n' "$candidate"
      return
    fi
  done
  die "Python >= 3.11 is needed, and none was found among: ${PYTHON:-python3, python3.11 to python3.13}." \
    "Install it, or name one: PYTHON=/path/to/python3.12 $0"
}

# What an installation depends on: the place, the interpreter, the requirements.
fingerprint() {
  printf '%s\n' "$root"
  "$python" -c 'import sys; print(*sys.version_info[:3], sep=".")'
  cat "$root/pyproject.toml" "$root/constraints.txt" | cksum
}

make_venv() {
  local base
  base=$(find_python) || exit 1
  if ! "$base" -c 'import ensurepip, venv' 2>/dev/null; then
    die "$base cannot make a virtual environment: its modules venv and ensurepip are missing." \
      "On Debian and Ubuntu: apt-get install python3-venv"
  fi
  say "Making .venv with $("$base" --version) ..."
  # --clear: what is left of a broken or moved environment goes.
  "$base" -m venv --clear "$root/.venv"
}

# Makes .venv and installs recoeval in it; quick when nothing has changed since the last time.
# $1: core, or dev for the tools and the tests as well.
ensure_venv() {
  local stamp=$root/.venv/.installed-$1 found=''
  # A moved or copied .venv runs, but its installation points to the old place.
  if ! "$python" -c 'import pip' 2>/dev/null; then
    make_venv
  elif [ -f "$stamp" ]; then
    found=$(cat "$stamp")
    [ "${found%%$'\n'*}" = "$root" ] || make_venv
  fi
  [ "$found" != "$(fingerprint)" ] || return 0

  say "Installing recoeval ($1) into .venv; the first time this takes a minute or two ..."
  local pip=("$python" -m pip --disable-pip-version-check -qq install --constraint constraints.txt)
  local what=(--build-constraint constraints.txt --editable .)
  [ "$1" = core ] || what+=(--group "$1")
  (
    cd "$root"
    # First pip itself: groups are younger than the pip that comes with Python 3.11.
    "${pip[@]}" --upgrade pip
    "${pip[@]}" "${what[@]}"
  ) >&2 || die "The installation failed; the reason stands above."
  [ "$1" = core ] || fingerprint >"$root/.venv/.installed-core"
  fingerprint >"$stamp"
}
