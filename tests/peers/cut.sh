#!/bin/sh
# cut.sh PROGRAM FOLDER - a run across two hosts, made of two network namespaces, whose link is cut in the middle of it.
# All ranks must end by themselves within half a minute and name the one that is out of reach, and the checkpoint must be whole and resume.
# Ends with 77 where there is no mpirun or namespaces cannot be made.
set -eu
program=$1
cd "$2"
command -v mpirun > /dev/null 2>&1 && command -v ip > /dev/null 2>&1 || exit 77
a=centra-a-$$ b=centra-b-$$ # hosts
x=ca$$ y=cb$$               # ends of the link
clean() {
    for host in $a $b; do
        for process in $(ip netns pids $host 2> /dev/null); do kill -9 "$process" 2> /dev/null || true; done
        ip netns del $host 2> /dev/null || true
    done
}
trap clean EXIT
trap 'exit 1' INT TERM
ip netns add $a 2> /dev/null && ip netns add $b && ip link add "$x" type veth peer name "$y" || exit 77
ip link set "$x" netns $a && ip link set "$y" netns $b
ip -n $a link set lo up && ip -n $b link set lo up && ip -n $a link set "$x" up && ip -n $b link set "$y" up
ip -n $a addr add 10.77.0.1/24 dev "$x" && ip -n $b addr add 10.77.0.2/24 dev "$y"

cat > agent.sh << END # in place of ssh: HOST WORDS...
#!/bin/sh
shift
exec ip netns exec $b unshare -u sh -c "hostname centra-b; \$*"
END
chmod +x agent.sh
set -- --data 'synth:4?train=4&val=4&test=4&pictures=8&side=20' --threads 1 --out lan
lan() { # lan WORDS...: on both hosts
    timeout 60 ip netns exec $a unshare -u sh -c 'hostname centra-a; exec "$@"' lan \
        mpirun -n 2 --host 10.77.0.1:1,10.77.0.2:1 --mca plm_rsh_agent "$PWD/agent.sh" --mca btl tcp,self \
        --mca btl_tcp_if_include 10.77.0.0/24 --mca oob_tcp_if_include 10.77.0.0/24 -x CENTRA_PATIENCE=5 "$program" "$@"
}
lan train tiny.txt "$@" --set train.epochs=1000000 --set validate.every=100000 > lan.out 2> lan.err &
run=$!
tries=0
until [ -s lan/metrics.jsonl ]; do
    tries=$((tries + 1))
    [ $tries -lt 300 ] || { echo "the run across two hosts has not begun:"; cat lan.err; exit 1; }
    sleep 0.1
done
ip -n $b link set "$y" down
ranks() { # those that are still there, on both hosts
    for process in $(ip netns pids $a) $(ip netns pids $b); do
        [ "$(cat /proc/"$process"/comm 2> /dev/null)" != centra ] || echo "$process"
    done
}
tries=0
while [ -n "$(ranks)" ]; do
    tries=$((tries + 1))
    [ $tries -lt 30 ] || { echo "ranks go on after their link was cut:" $(ranks); cat lan.err; exit 1; }
    sleep 1
done
grep -q 'centra: rank 0 of 2, on centra-a: rank 1 has not been heard of for 5 s' lan.err || { cat lan.err; exit 1; }
# mpirun itself waits for its half on the other host, and is ended by whoever started it
for process in $(ip netns pids $a) $(ip netns pids $b); do kill -9 "$process" 2> /dev/null || true; done
wait $run || true
ip -n $b link set "$y" up
epochs=$(($(wc -l < lan/metrics.jsonl) + 3))
lan train --resume "$@" --set train.epochs=$epochs --set validate.every=100000 > lan.out 2> lan.err || { cat lan.err; exit 1; }
