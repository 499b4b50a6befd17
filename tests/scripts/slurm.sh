#!/usr/bin/env bash
# A decoder on two ranks, started by srun: Slurm's daemons run on this machine, in their own folders. slurm.sh BUILD
# DATA DATA: the programs of examples/tensor_parallel. Skips the test, with a reason, where the daemons cannot start.
set -uo pipefail
build=$1
data=$(realpath "$2")
leave_out() { echo "left out: Slurm, since $1" && exit 0; }
for program in munged slurmctld slurmd srun; do
  PATH=$PATH:/usr/sbin command -v "$program" >/dev/null ||
    leave_out "there is no $program (the packages munge, slurmctld, slurmd and slurm-client)"
done
export PATH=$PATH:/usr/sbin
[[ $(id -u) == 0 ]] || leave_out 'its daemons need root here'
folder=$(mktemp -d)
daemons=()
finish() {
  for pid in "${daemons[@]}"; do kill "$pid" 2>/dev/null; done
  wait
  rm -rf "$folder"
}
trap finish EXIT
chmod 755 "$folder"
mkdir -p "$folder"/{munge,state,spool}
chmod 700 "$folder/munge"
dd if=/dev/urandom of="$folder/munge/key" bs=1024 count=1 status=none
chmod 400 "$folder/munge/key"
host=$(hostname -s)
port=$((20000 + RANDOM % 10000))
cat >"$folder/slurm.conf" <<EOF
ClusterName=tern
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$port
SlurmdPort=$((port + 1))
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$folder/munge/socket
CryptoType=crypto/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd.pid
SlurmctldLogFile=$folder/slurmctld.log
SlurmdLogFile=$folder/slurmd.log
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
ReturnToService=2
NodeName=$host NodeAddr=127.0.0.1 CPUs=$(nproc) State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverSubscribe=FORCE:8
EOF
export SLURM_CONF=$folder/slurm.conf
munged --foreground --force --key-file="$folder/munge/key" --socket="$folder/munge/socket" --pid-file="$folder/munge/pid" \
  --log-file="$folder/munge/log" --seed-file="$folder/munge/seed" 2>"$folder/munge.out" &
daemons+=($!)
for _ in $(seq 50); do [[ -S $folder/munge/socket ]] && break; sleep 0.1; done
[[ -S $folder/munge/socket ]] || leave_out "munged does not start: $(tail -n 1 "$folder/munge.out" "$folder/munge/log" 2>/dev/null | tail -n 1)"
slurmctld -D -i >"$folder/slurmctld.out" 2>&1 &
daemons+=($!)
slurmd -D -N "$host" >"$folder/slurmd.out" 2>&1 &
daemons+=($!)
for _ in $(seq 150); do
  sinfo -h -o %t 2>/dev/null | grep -q '^idle' && break
  sleep 0.2
done
sinfo -h -o %t 2>/dev/null | grep -q '^idle' ||
  leave_out "the daemons do not start: $(tail -qn 1 "$folder"/slurmctld.log "$folder"/slurmd.log "$folder"/*.out 2>/dev/null | tr '\n' ';')"
ranks=2
timeout 60 srun --overcommit -n $ranks "$build/tern" run "$data/llama_${ranks}_{rank}.pt2" -i "$data/tokens.safetensors" \
  -o "$folder/{rank}.safetensors" --group gloo --group-timeout 30 >"$folder/run.out" 2>&1 || { cat "$folder/run.out" && exit 1; }
cmp "$folder/0.safetensors" "$folder/1.safetensors" || { echo 'the ranks differ' && exit 1; }
"$(dirname "$0")/groups.py" --logits "$folder/0.safetensors" "$data/logits.safetensors" || { echo "other logits" && exit 1; }
echo 'srun: a decoder on 2 ranks'
