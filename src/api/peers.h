/* peers.h - the other processes of a run, where this one was started together with them. */
#ifndef API_PEERS_H
#define API_PEERS_H
#include "peers/peers.h"

enum started_by {
    BY_MPI,   /* mpirun, or srun with PMIx: MPI knows the way to the others */
    BY_SLURM, /* srun --mpi=none */
    BY_OTHERS /* torchrun and its kind */
};
struct started { /* what the environment says */
    int size;    /* 1: alone */
    int local;   /* our number on this machine, which chooses a GPU */
    enum started_by by;
};
struct started peers_started(void);
/* The others: centra-mpi.so where there are some, else peers_alone(). */
status peers_join(struct peers **out);
#endif
