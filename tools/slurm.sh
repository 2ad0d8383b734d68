#!/bin/sh
# slurm.sh COMMAND... - a Slurm of one node that listens on loopback alone, for as long as COMMAND takes: its own key, ports
# and folder, nothing of an installed cluster is read or changed. Ends with COMMAND's status, or with 77 and a line
# that says so where something is missing. Needs root: slurmd starts its steps as whoever asked for them.
set -eu
skip() { echo "slurm: SKIPPED: $1"; exit 77; }
PATH=$PATH:/usr/sbin:/sbin
for program in munged slurmctld slurmd srun sinfo; do
    command -v $program > /dev/null 2>&1 || skip "there is no $program (Debian: slurm-wlm, munge)"
done
[ "$(id -u)" -eq 0 ] || skip "slurmd has to be started by root"
host=$(hostname -s)
getent hosts "$host" > /dev/null || skip "this machine does not know its own name, $host"

work=$(mktemp -d /tmp/slurm.XXXXXX) # short: the names of sockets in it have 107 letters at most
chmod 755 "$work"
port=$((20000 + $$ % 5000 * 2))
daemons=""
clean() {
    trap '' INT TERM
    if [ -e "$work/ready" ]; then # steps end before their daemons, which talk to each other to the last
        scancel -f --ctld -u root 2> /dev/null || true
        waits 50 idle || true
    fi
    for daemon in $daemons; do
        kill "$daemon" 2> /dev/null || true
        waits 50 gone || kill -9 "$daemon" 2> /dev/null || true
    done
    rm -rf "$work"
}
idle() { sinfo -h -o %T 2> /dev/null | grep -q idle; }
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

mkdir "$work/state" "$work/spool"
(umask 077 && head -c 128 /dev/urandom > "$work/key")
# Four processors, whatever the machine has: tests start four ranks.
cat > "$work/slurm.conf" << END
ClusterName=centra
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$port
SlurmdPort=$((port + 1))
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$work/munge
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/spool
SlurmctldPidFile=$work/slurmctld.pid
SlurmdPidFile=$work/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
ReturnToService=2
NodeName=$host NodeAddr=127.0.0.1 CPUs=4 State=UNKNOWN
PartitionName=all Nodes=$host Default=YES State=UP
END
export SLURM_CONF="$work/slurm.conf"

munged -F --key-file="$work/key" --socket="$work/munge" --pid-file="$work/munge.pid" --seed-file="$work/seed" --force > "$work/munged.log" 2>&1 &
daemons=$!
slurmctld -D > "$work/slurmctld.log" 2>&1 &
daemons="$! $daemons"
slurmd -D > "$work/slurmd.log" 2>&1 &
daemons="$! $daemons"
waits 100 idle || { tail -n 5 "$work"/*.log; skip "the node was not ready after 20 s"; }
: > "$work/ready"
status=0
"$@" || status=$?
exit $status
