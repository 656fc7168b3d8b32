/* A compiler of C plays a card: blocks one after the other, and in each its threads one after the other. */
#include <math.h>
#include <tgmath.h>

#define KERNEL(n_threads) void
#define DEVICE static inline
#define ALIGNED(n) __attribute__((aligned(n)))
#define EACH_THREAD for (int thread = 0; thread < n_threads_of_block; ++thread)
#define SYNC
#define FORGET_SHARED
#define SHARED(type, name, size) static type name size
#define OWN(type, name, size) static type name##_of[1024] size
#define OF(name) name##_of[thread]
#define ATOMIC_MAX(place, value) (*(place) = *(place) < (value) ? (value) : *(place))
#define UNROLL
#define UNROLL_1
#define UNROLL_2
#define BLOCK_X block_x
#define BLOCK_Y block_y
#define N_BLOCKS_X n_blocks_x
#define N_THREADS n_threads_of_block
#define INFINITE INFINITY
#define NOT_A_NUMBER NAN
#undef fma
#define fma(a, b, c) ((a) * (b) + (c))

static long long block_x, block_y, n_blocks_x;
static int n_threads_of_block;
static double dynamic_shared[1 << 15] __attribute__((aligned(64)));

void set_block(long long x, long long y, long long n_x, int n_threads)
{
    block_x = x;
    block_y = y;
    n_blocks_x = n_x;
    n_threads_of_block = n_threads;
}
