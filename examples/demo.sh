#!/bin/sh
# Compile stale_event.cpp and let the cuvet that is installed in DIRECTORY/venv diagnose it.
set -eu
directory=$1
program=$directory/stale_event
python=$directory/venv/bin/python
native=$("$python" -c 'import cuvet, pathlib; print(pathlib.Path(cuvet.__file__).parent / "_native")')

${CXX:-c++} -std=c++17 -O2 -g -pthread examples/stale_event.cpp "$native/libcuda.so.1" -o "$program"

echo "\$ cuvet run -- $program"
code=0
"$directory/venv/bin/cuvet" run --error-exitcode 86 -- "$program" || code=$?
if [ "$code" -ne 86 ]; then
    echo "demo: the mistake in stale_event.cpp was not found (exit code $code)" >&2
    exit 1
fi
