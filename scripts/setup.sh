# Sourced by ./run and ./test: makes .venv in the checkout and installs what EXTRAS names.
# Needs Python 3.11 or newer and nothing else; names missing system packages, installs them as root.
set -eu

say() { printf '%s\n' "dmglab: $*" >&2; }
die() { say "$*"; exit 1; }

VENV="$CHECKOUT/.venv"
PYTHON="$VENV/bin/python"
QT_PACKAGES="libegl1 libgl1 libglib2.0-0 libdbus-1-3 libfontconfig1 libxkbcommon0 \
libxkbcommon-x11-0 libxcb-cursor0 libxcb-icccm4 libxcb-image0 libxcb-keysyms1 libxcb-randr0 \
libxcb-render-util0 libxcb-shape0 libxcb-xinerama0 libxcb-xkb1 fonts-dejavu-core"

apt_install() {  # apt_install WHY PACKAGE...: installs as root, otherwise says what to type
    why=$1; shift
    command -v apt-get >/dev/null 2>&1 || die "$why. Install the equivalents of: $*"
    if [ "$(id -u)" -ne 0 ]; then
        die "$why. Please run:  sudo apt-get install -y $*   and start this again."
    fi
    say "$why: installing $*"
    apt-get update -qq >/dev/null 2>&1 || true
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null ||
        die "apt-get could not install: $*"
}

find_python() {  # the newest supported interpreter on PATH
    for name in ${DMGLAB_PYTHON:-} python3.13 python3.12 python3.11 python3; do
        if command -v "$name" >/dev/null 2>&1 &&
            "$name" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' 2>/dev/null; then
            command -v "$name"; return
        fi
    done
    die "Python 3.11, 3.12 or 3.13 is needed and none is on PATH; set DMGLAB_PYTHON to one"
}

make_venv() {
    [ -x "$PYTHON" ] && "$PYTHON" -m pip --version >/dev/null 2>&1 && return
    base=$(find_python)
    say "making .venv with $base"
    rm -rf "$VENV"
    if ! "$base" -m venv "$VENV" >/dev/null 2>&1; then
        version=$("$base" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
        rm -rf "$VENV"
        apt_install "Python's venv module is missing" "python$version-venv"
        "$base" -m venv "$VENV" || die "$base -m venv failed"
    fi
}

torch_requirement() { sed -n 's/^\(torch==[0-9.]*\)$/\1/p' "$CHECKOUT/scripts/constraints.txt"; }

install_requirements() {  # once per set of requirements and extras
    requirements=$(cd "$CHECKOUT" && cat pyproject.toml setup.py scripts/constraints.txt | cksum)
    stamp="$VENV/.installed-$EXTRAS-$(echo "$requirements" | tr -d ' ')"
    [ -e "$stamp" ] && return
    say "installing requirements [$EXTRAS]: a few minutes the first time"
    # torch by its exact version first: a local wheel or index of the user's choice then serves it.
    torch=$(torch_requirement)
    # shellcheck disable=SC2086
    "$PYTHON" -m pip install -q --disable-pip-version-check ${PIP_OPTIONS:-} "$torch" ||
        die "pip could not install $torch (disk full? no network?)"
    # shellcheck disable=SC2086
    (cd "$CHECKOUT" && "$PYTHON" -m pip install -q --disable-pip-version-check ${PIP_OPTIONS:-} \
        -c scripts/constraints.txt -e ".[$EXTRAS]") || die "pip could not install the requirements"
    rm -f "$VENV"/.installed-*
    : >"$stamp"
}

say_how_to_call() {  # the README's lines are typed in a shell where .venv is active
    say "to call dmglab from this shell:  . '$VENV/bin/activate'"
}

need_qt_libraries() {  # Qt loads its platform plug-in at run time: ask it rather than guess
    platform=$1
    QT_QPA_PLATFORM=$platform "$PYTHON" -c \
        'from PySide6.QtWidgets import QApplication; QApplication([])' >/dev/null 2>&1 && return
    # shellcheck disable=SC2086
    apt_install "Qt's system libraries are missing" $QT_PACKAGES
    QT_QPA_PLATFORM=$platform "$PYTHON" -c \
        'from PySide6.QtWidgets import QApplication; QApplication([])' ||
        die "Qt cannot start on platform '$platform' (message above)"
}
