# Sourced by ./run and ./test: makes .venv in the checkout and installs what LOCKS names.
# Needs Python 3.11 or newer and nothing else; names missing system packages, installs them as root.
# shellcheck disable=SC2086  # lists of words: PIP_OPTIONS, CPU_INDEX, LOCKS, packages
set -eu

say() { printf '%s\n' "dmglab: $*" >&2; }
die() { say "$*"; exit 1; }

VENV="$CHECKOUT/.venv"
PYTHON="$VENV/bin/python"
CPU_INDEX="--retries 1 --timeout 10 --index-url https://download.pytorch.org/whl/cpu"
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
    if ! said=$("$base" -m venv "$VENV" 2>&1); then
        if "$base" -c 'import ensurepip, venv' 2>/dev/null; then  # disk full, folder not writable
            die ".venv cannot be made in $CHECKOUT: $(printf '%s\n' "$said" | tail -n 1)"
        fi
        version=$("$base" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
        rm -rf "$VENV"
        apt_install "Python's venv module is missing" "python$version-venv"
        "$base" -m venv "$VENV" || die "$base -m venv failed"
    fi
}

TORCH=$(sed -n 's/^\(torch==[0-9.]*\)$/\1/p' "$CHECKOUT/scripts/constraints.txt")

has_nvidia_gpu() {
    [ -e /proc/driver/nvidia/version ] || [ -e /dev/nvidia0 ] || nvidia-smi -L >/dev/null 2>&1
}

torch_wanted() {  # cpu or cuda: as DMGLAB_TORCH says, else by what this machine has
    case ${DMGLAB_TORCH:-} in
        cpu|cuda) echo "$DMGLAB_TORCH" ;;
        '') if has_nvidia_gpu || [ "$(uname -s)" != Linux ]; then echo cuda; else echo cpu; fi ;;
        *) die "DMGLAB_TORCH=$DMGLAB_TORCH: say cpu or cuda, or leave it unset" ;;
    esac
}

in_checkout() { (cd "$CHECKOUT" && "$@"); }

pip_install() {
    in_checkout "$PYTHON" -m pip install -q --disable-pip-version-check ${PIP_OPTIONS:-} "$@"
}

installed() { in_checkout "$PYTHON" scripts/installed.py "$@"; }

# torch comes by its exact version in a call of its own and without a hash, so that a local wheel
# or an index of the user's choice can serve it. PyPI's torch for Linux carries CUDA.
install_torch() {  # install_torch cpu|cuda
    if [ "$1" = cpu ]; then
        # A wheel that pip's own settings name (find-links) needs no network.
        pip_install --no-deps --no-index "$TORCH" >/dev/null 2>&1 && return
        say "installing $TORCH for the CPU: no NVIDIA GPU is seen, or DMGLAB_TORCH says so"
        pip_install --no-deps $CPU_INDEX "$TORCH" 2>/dev/null && return
        say "PyTorch's index of CPU builds gave none: taking pip's own, 5 GB where it carries CUDA"
    else
        say "installing $TORCH with CUDA's libraries, 5 GB (DMGLAB_TORCH=cpu: 1 GB without)"
    fi
    pip_install --no-deps "$TORCH"
}

switch_torch() {  # to the build that DMGLAB_TORCH names, where another one is installed
    has=$(installed torch)
    [ -n "${DMGLAB_TORCH:-}" ] && [ "$has" != "$DMGLAB_TORCH" ] || return 0
    say "the torch that is installed is a $has build: asking pip for a $DMGLAB_TORCH build"
    index=
    [ "$DMGLAB_TORCH" = cuda ] || index=$CPU_INDEX
    pip_install --no-deps --force-reinstall $index "$TORCH" && pip_install "$TORCH" || :
    has=$(installed torch)
    [ "$has" = "$DMGLAB_TORCH" ] || say "pip gave no $DMGLAB_TORCH build: going on with the $has build"
}

install_missing() {  # fails where what is installed will do, though it is not what LOCKS name
    say "installing requirements: a few minutes the first time"
    ok=yes
    case " $missing" in *" torch="*) install_torch "$wanted" || ok= ;; esac
    [ -z "$ok" ] || pip_install --require-hashes --no-deps $requirements || ok=
    # CUDA's libraries, by the versions that torch itself names.
    [ -z "$ok" ] || [ -z "$(installed exact $LOCKS)" ] || pip_install "$TORCH" || ok=
    [ -z "$ok" ] || return 0
    missing=$(installed usable $LOCKS)
    [ -z "$missing" ] || die "pip could not install $missing (disk full? no network?)"
    say "pip could not install the locked versions (no network?): going on with what is installed"
    return 1
}

link_checkout() {  # makes the packages importable and the commands callable; needs no network
    project="$(in_checkout cat pyproject.toml setup.py | cksum) $CHECKOUT"
    [ "$(cat "$VENV/.linked" 2>/dev/null)" = "$project" ] && return
    # `activate` names the folder that it was made in: the checkout may have been moved since.
    "$PYTHON" -m venv --without-pip "$VENV" || :
    if pip_install --no-deps --no-build-isolation -e .; then
        printf '%s' "$project" >"$VENV/.linked"
    elif [ ! -x "$VENV/bin/dmglab" ]; then
        die "pip could not link the checkout into .venv (message above)"
    fi
}

is_stamped() {  # is_stamped STAMP: nothing that LOCKS name has changed since it was installed
    for name in $LOCKS; do
        [ "$(cat "$VENV/.installed-${name##*/}" 2>/dev/null)" = "$1" ] || return 1
    done
}

install_requirements() {  # calls pip for what is missing only, so that both work without a network
    wanted=$(torch_wanted)
    stamp="${DMGLAB_TORCH:-any} $(in_checkout cat scripts/constraints.txt scripts/lock*.txt | cksum)"
    if ! is_stamped "$stamp"; then
        requirements=
        for name in $LOCKS; do requirements="$requirements -r $name"; done
        missing=$(installed exact $LOCKS)
        whole=yes
        [ -z "$missing" ] || install_missing || whole=
        switch_torch
        for name in ${whole:+$LOCKS}; do printf '%s' "$stamp" >"$VENV/.installed-${name##*/}"; done
    fi
    link_checkout
}

say_how_to_call() {  # the README's lines are typed in a shell where .venv is active
    say "to call dmglab from this shell:  . '$VENV/bin/activate'"
}

need_display() {  # ends here where DISPLAY or WAYLAND_DISPLAY names one that nobody serves
    fault=$(in_checkout "$PYTHON" -c 'from gui.shell.qt_check import display_fault; print(display_fault())')
    [ -z "$fault" ] || die "$fault. Without a window:  ./run --headless"
}

start_qt() {  # start_qt PLATFORM: what Qt says when it cannot start; Qt chooses without PLATFORM
    (
        [ -z "$1" ] || export QT_QPA_PLATFORM="$1"
        "$PYTHON" -c 'from PySide6.QtWidgets import QApplication; QApplication([])' 2>&1
    ) 2>/dev/null  # the shell's own word about a process that aborts
}

missing_qt_packages() {
    command -v dpkg-query >/dev/null 2>&1 || { echo "$QT_PACKAGES"; return; }
    for package in $QT_PACKAGES; do  # Debian 13 and Ubuntu 24.04 call libglib2.0-0 libglib2.0-0t64
        for name in "$package" "${package}t64"; do
            dpkg-query -W -f '${Status}' "$name" 2>/dev/null | grep -q ' installed' && continue 2
        done
        echo "$package"
    done
}

need_qt_libraries() {  # Qt loads its platform plug-in at run time: ask it rather than guess
    platform=${1:-}
    said=$(start_qt "$platform") && return
    packages=$(missing_qt_packages)
    if [ -n "$packages" ]; then
        apt_install "Qt's system libraries are missing" $packages
        [ -n "$platform" ] || need_display  # could not be asked before without libxcb
        said=$(start_qt "$platform") && return
    fi
    case $said in
        *"could not connect to display"*|*"Failed to create wl_display"*)
            die "no display answers. Without a window:  ./run --headless" ;;
    esac
    printf '%s\n' "$said" >&2
    die "Qt cannot start (message above). Without a window:  ./run --headless"
}
