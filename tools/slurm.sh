#!/bin/sh
# slurm.sh COMMAND... - a Slurm on this machine alone, for as long as COMMAND takes: two nodes, one and two, of four processors
# each, whatever there is. It has its own folder, its own ports and a key that guards them; nothing of an installed cluster is
# read or changed. Ends with COMMAND's status, or with 77 and a line that says so where something is missing. Needs root, as slurmd does.
set -eu
skip() { echo "slurm: SKIPPED: $1"; exit 77; }
PATH=$PATH:/usr/sbin:/sbin
for program in munged slurmctld slurmd srun unshare; do
    command -v $program > /dev/null 2>&1 || skip "there is no $program (Debian: slurm-wlm, munge, util-linux)"
done
[ "$(id -u)" -eq 0 ] || skip "slurmd has to be started by root"
host=$(hostname -s)
getent hosts "$host" > /dev/null || skip "this machine does not know its own name, $host"

work=$(mktemp -d /tmp/slurm.XXXXXX) # short: the names of sockets in it have 107 letters at most
chmod 755 "$work"
port=$((20000 + $$ % 4000 * 3))
daemons=""
clean() {
    trap '' INT TERM
    if [ -e "$work/ready" ]; then # steps end before their daemons: nobody else would end them
        scancel -f --ctld -u root 2> /dev/null || true
        waits 50 idle || true
    fi
    for daemon in $daemons; do
        kill "$daemon" 2> /dev/null || true
        waits 50 gone || kill -9 "$daemon" 2> /dev/null || true
    done
    rm -rf "$work"
}
idle() { [ "$(sinfo -h -t idle -o %D 2> /dev/null)" = 2 ]; }
gone() { case $(ps -o stat= -p "$daemon") in '' | Z*) ;; *) return 1 ;; esac; }
waits() { # waits FIFTHS CONDITION: whether it came true
    left=$1
    until $2; do
        [ "$left" -gt 0 ] || return 1
        left=$((left - 1))
        sleep 0.2
    done
}
trap clean EXIT
trap 'exit 1' INT TERM

mkdir "$work/state" "$work/one" "$work/two"
(umask 077 && head -c 128 /dev/urandom > "$work/key")
cat > "$work/slurm.conf" << END
ClusterName=centra
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$port
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$work/munge
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/%n
TmpFS=$work/%n
SlurmctldPidFile=$work/slurmctld.pid
SlurmdPidFile=$work/%n.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
ReturnToService=2
KillWait=2
FirstJobId=$port
NodeName=one NodeHostname=$host NodeAddr=127.0.0.1 Port=$((port + 1)) CPUs=4
NodeName=two NodeHostname=$host NodeAddr=127.0.0.1 Port=$((port + 2)) CPUs=4
PartitionName=all Nodes=one,two Default=YES State=UP
END
for variable in $(env | sed -n 's/^\(SLURM_[A-Z0-9_]*\)=.*/\1/p'); do unset "$variable"; done # of a job that we are in
export SLURM_CONF="$work/slurm.conf"

munged -F --key-file="$work/key" --socket="$work/munge" --pid-file="$work/munge.pid" --seed-file="$work/seed" --force > "$work/munged.log" 2>&1 &
daemons=$!
slurmctld -D > "$work/slurmctld.log" 2>&1 &
daemons="$! $daemons"
# Open MPI calls the memory that processes share by host and job: names of their own for the nodes, numbers for the jobs.
for node in one two; do
    unshare -u sh -c "hostname $node; exec slurmd -D -N $node" > "$work/$node.log" 2>&1 &
    daemons="$! $daemons"
done
waits 100 idle || { tail -n 5 "$work"/*.log; skip "its nodes were not ready after 20 s"; }
: > "$work/ready"
status=0
"$@" || status=$?
exit $status
