#!/bin/sh
# Runs `cuvet doctor` on this machine's GPU: as it is, and with each of three things wrong. Prints what it says; changes nothing outside a
# temporary directory. Usage: [PYTHON=python3] sh tests/hardware/doctor.sh; PYTHON needs cuvet's dependencies, and PyTorch for the fourth.
PYTHON=${PYTHON:-python3}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PYTHONPATH="$(cd "$(dirname "$0")/../.." && pwd)/src${PYTHONPATH:+:$PYTHONPATH}"
failed=0

# expect TITLE CODE CAUSES COMMAND...: runs it, and compares exit code and the first cause in the report ("-" for none)
expect() {
    title=$1 code=$2 causes=$3
    shift 3
    echo "=== $title"
    start=$(date +%s%N)
    "$@" >"$work/out" 2>&1
    got=$?
    cat "$work/out"
    first=$(sed -n 's/^\(error\|warning\)\[\([a-z-]*\)\].*/\2/p' "$work/out" | head -1)
    echo "--- exit code $got, $((($(date +%s%N) - start) / 1000000)) ms, first cause ${first:--}"
    if [ "$got" = "$code" ] && echo " $causes " | grep -q " ${first:--} "; then
        echo "--- as expected"
    else
        echo "--- NOT as expected: exit code $code, first cause one of: $causes"
        failed=1
    fi
}

doctor() { "$PYTHON" -m cuvet doctor "$@"; }
doctor_with() { variable=$1; shift; env "$variable" "$PYTHON" -m cuvet doctor "$@"; }

expect "this machine as it is" 0 - doctor
echo "=== every probe"
doctor -v

expect "no device is visible" 1 device-none-visible doctor_with CUDA_VISIBLE_DEVICES=
expect "a device that is not there" 1 device-none-visible doctor_with CUDA_VISIBLE_DEVICES=99

stub=$(find -L /usr/local/cuda/lib64/stubs /usr/local/cuda*/targets/*/lib/stubs -name libcuda.so 2>/dev/null | head -1)
if [ -n "$stub" ]; then
    # the toolkit installs the stub as libcuda.so only: somebody has to make it reachable as libcuda.so.1
    mkdir "$work/stubs"
    cp "$stub" "$work/stubs/libcuda.so"
    ln -s libcuda.so "$work/stubs/libcuda.so.1"
    expect "a stub libcuda in front" 1 driver-stub-in-front doctor_with "LD_LIBRARY_PATH=$work/stubs:$LD_LIBRARY_PATH"
else
    echo "=== a stub libcuda in front: skipped, no toolkit with stubs"
fi

# A second site directory of links, and a copy of cuDNN of which one sub-library is left out.
site=$("$PYTHON" -c 'import importlib.util as u, os; print(os.path.dirname(os.path.dirname(u.find_spec("torch").origin)))' 2>/dev/null)
hidden=libcudnn_cnn.so.9
causes="cudnn-sublibrary-missing cudnn-sublibrary-from-elsewhere cudnn-files-damaged"
if [ -n "$site" ] && [ -e "$site/nvidia/cudnn/lib/$hidden" ]; then
    version=$("$PYTHON" -c 'import sys; print("python%d.%d" % sys.version_info[:2])')
    copy=$work/venv/lib/$version/site-packages
    mkdir -p "$copy/nvidia/cudnn/lib" "$work/venv/bin"
    ln -s "$(readlink -f "$(command -v "$PYTHON")")" "$work/venv/bin/python"
    echo "home = /usr/bin" >"$work/venv/pyvenv.cfg"
    mkdir -p "$copy/torch/lib"
    for entry in "$site"/*; do case ${entry##*/} in nvidia | torch) ;; *) ln -s "$entry" "$copy/" ;; esac; done
    for entry in "$site"/torch/*; do [ "${entry##*/}" = lib ] || ln -s "$entry" "$copy/torch/"; done
    for entry in "$site"/torch/lib/*; do ln -s "$entry" "$copy/torch/lib/"; done
    for entry in "$site"/nvidia/*; do [ "${entry##*/}" = cudnn ] || ln -s "$entry" "$copy/nvidia/"; done
    for entry in "$site"/nvidia/cudnn/lib/*.so*; do
        [ "${entry##*/}" = $hidden ] || ln "$entry" "$copy/nvidia/cudnn/lib/" 2>/dev/null || cp "$entry" "$copy/nvidia/cudnn/lib/"
    done
    expect "$hidden hidden in a copy of PyTorch's cuDNN" 1 "$causes" doctor --python "$work/venv/bin/python"
else
    library=$(ldconfig -p | sed -n 's/.*libcudnn\.so\.9 .*=> //p' | head -1)
    if [ -n "$library" ]; then
        mkdir "$work/cudnn"
        for entry in "$(dirname "$library")"/libcudnn*.so*; do
            case ${entry##*/} in libcudnn_cnn*) ;; *) cp -P "$entry" "$work/cudnn/" ;; esac
        done
        expect "$hidden hidden in a copy of the system's cuDNN" 1 "$causes" doctor_with "LD_LIBRARY_PATH=$work/cudnn:$LD_LIBRARY_PATH"
    else
        echo "=== a libcudnn sub-library hidden: skipped, no cuDNN 9"
    fi
fi
exit $failed
