#!/bin/sh
# host_program.sh FOLDER PROGRAM [ARGUMENT...]: runs this machine's build of PROGRAM, which lies in FOLDER, in place of
# the target's.
folder=$1
name=$(basename "$2" .exe)
shift 2
exec "$folder/$name" "$@"
