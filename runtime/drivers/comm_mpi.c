/* Ranks by MPI. */
#include "runtime/drivers/comm.h"

#include <limits.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* MPI counts in int. */
enum { RT_MPI_PIECE = 1 << 30 };

struct rt_group {
    MPI_Comm comm; /* of its own */
    rt_place at;
    bool begun;   /* MPI, for it */
    int counts[]; /* room for two numbers a rank */
};

static void rt_mpi_stop(void)
{
    MPI_Abort(MPI_COMM_WORLD, 1);
    exit(1);
}

/* What launchers say of the processes that they start: how many there are, and which this is. */
static const char *const rt_launchers[][2] = {{"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"},
                                              {"PMI_SIZE", "PMI_RANK"},
                                              {"SLURM_STEP_NUM_TASKS", "SLURM_PROCID"}};

/* Processes that another MPI's launcher has started do not know of each other: each would do all of
 * the work, and write the results. */
static void rt_mpi_check_launcher(int ranks)
{
    size_t n = sizeof rt_launchers / sizeof *rt_launchers, k = 0;
    while (k < n && !getenv(rt_launchers[k][0]))
        k++;
    int started = k < n ? atoi(getenv(rt_launchers[k][0])) : 1;
    if (ranks > 1 || started <= 1)
        return;
    const char *number = getenv(rt_launchers[k][1]);
    if (!number || atoi(number) == 0)
        fprintf(stderr,
                "%d processes were started that do not know of each other: mpirun (or srun "
                "--mpi=..) is to be of the MPI that the program was compiled with\n",
                started);
    else
        sleep(1); /* who ends first has the others ended, which may not have spoken yet */
    MPI_Finalize();
    exit(1);
}

static rt_group *rt_mpi_group(MPI_Comm comm)
{
    int ranks;
    MPI_Comm machine;
    MPI_Comm_size(comm, &ranks);
    rt_group *g = malloc(sizeof *g + 2 * (size_t)ranks * sizeof *g->counts);
    if (!g) { /* the others are in MPI_Comm_dup by now */
        fprintf(stderr, "out of memory\n");
        rt_mpi_stop();
    }
    *g = (rt_group){.at.ranks = ranks};
    MPI_Comm_dup(comm, &g->comm);
    MPI_Comm_rank(comm, &g->at.rank);
    MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, g->at.rank, MPI_INFO_NULL, &machine);
    MPI_Comm_rank(machine, &g->at.here);
    MPI_Comm_size(machine, &g->at.beside);
    MPI_Comm_free(&machine);
    return g;
}

static rt_group *rt_mpi_open(int *argc, char ***argv, rt_place *at)
{
    int given, ranks;
    MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &given);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    rt_mpi_check_launcher(ranks);
    rt_group *g = rt_mpi_group(MPI_COMM_WORLD);
    g->begun = true;
    *at = g->at;
    return g;
}

static rt_group *rt_mpi_join(const int *communicator, rt_place *at)
{
    int begun, ended;
    MPI_Initialized(&begun);
    MPI_Finalized(&ended);
    if (!begun || ended)
        return NULL;
    rt_group *g =
        rt_mpi_group(communicator ? MPI_Comm_f2c((MPI_Fint)*communicator) : MPI_COMM_WORLD);
    *at = g->at;
    return g;
}

static void rt_mpi_all(rt_group *g, const void *mine, int64_t bytes, void *all)
{
    MPI_Allgather(mine, (int)bytes, MPI_BYTE, all, (int)bytes, MPI_BYTE, g->comm);
}

static void rt_mpi_from(rt_group *g, int root, char *data, int64_t bytes)
{
    for (int64_t at = 0; at < bytes; at += RT_MPI_PIECE) {
        int64_t left = bytes - at;
        MPI_Bcast(data + at, (int)(left < RT_MPI_PIECE ? left : RT_MPI_PIECE), MPI_BYTE, root,
                  g->comm);
    }
}

static void rt_mpi_blocks(rt_group *g, char *all, const int64_t *at)
{
    int ranks = g->at.ranks, *counts = g->counts, *begins = counts + ranks;
    bool small = at[ranks] <= INT_MAX;
    for (int r = 0; r < ranks && small; r++) {
        begins[r] = (int)at[r];
        counts[r] = (int)(at[r + 1] - at[r]);
    }
    if (small)
        MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_BYTE, all, counts, begins, MPI_BYTE, g->comm);
    for (int r = 0; r < ranks && !small; r++)
        rt_mpi_from(g, r, all + at[r], at[r + 1] - at[r]);
}

static int64_t rt_mpi_piece(const rt_message *m, int64_t done)
{
    int64_t left = m->bytes - done;
    return left < 0 ? 0 : left < RT_MPI_PIECE ? left : RT_MPI_PIECE;
}

static void rt_mpi_beside(rt_group *g, const rt_message to[2], const rt_message from[2])
{
    int rank = g->at.rank, n = 1;
    MPI_Request under_way[4];
    MPI_Status ended[4]; /* MPICH's declaration has the compiler warn of none */
    for (int64_t done = 0; n > 0; done += RT_MPI_PIECE) {
        n = 0;
        for (int k = 0; k < 4; k++) {
            const rt_message *m = k < 2 ? &from[k] : &to[k - 2];
            int bytes = (int)rt_mpi_piece(m, done), other = rank + 2 * (k % 2) - 1;
            if (bytes > 0 && k < 2)
                MPI_Irecv(m->data + done, bytes, MPI_BYTE, other, 0, g->comm, &under_way[n++]);
            else if (bytes > 0)
                MPI_Isend(m->data + done, bytes, MPI_BYTE, other, 0, g->comm, &under_way[n++]);
        }
        MPI_Waitall(n, under_way, ended);
    }
}

static void rt_mpi_give(rt_group *g, int from, int to, void *data, int64_t bytes)
{
    if (g->at.rank == from)
        MPI_Send(data, (int)bytes, MPI_BYTE, to, 0, g->comm);
    else
        MPI_Recv(data, (int)bytes, MPI_BYTE, from, 0, g->comm, MPI_STATUS_IGNORE);
}

static void rt_mpi_tell(rt_group *g, void *data, int64_t bytes)
{
    rt_mpi_from(g, 0, data, bytes);
}

static void rt_mpi_close(rt_group *g)
{
    MPI_Comm_free(&g->comm);
    if (g->begun)
        MPI_Finalize();
    free(g);
}

static const rt_comm rt_mpi = {rt_mpi_open, rt_mpi_join, rt_mpi_all,   rt_mpi_blocks, rt_mpi_beside,
                               rt_mpi_give, rt_mpi_tell, rt_mpi_close, rt_mpi_stop};
