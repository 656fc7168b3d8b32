/* Kernels of the CUDA engine, in what CUDA and C have in common.

REAL is float or double, the engine's type. A vector begins at an address that 64 divides, and may be read and written
up to the next one beyond its last row. Work of a block's threads stands in EACH_THREAD; what a thread keeps from one
such part to the next is declared with OWN and read with OF. So a compiler of C can run the blocks too, one thread after
the other (tests/engines/played_card.h). No sum depends on the order in which blocks run. */

#ifndef EACH_THREAD
#define KERNEL(n_threads) extern "C" __global__ void __launch_bounds__(n_threads)
#define DEVICE static __device__ __forceinline__
#define ALIGNED(n) __align__(n)
#define EACH_THREAD for (int thread = threadIdx.x, is_first = 1; is_first; is_first = 0)
#define SYNC __syncthreads()
#define FORGET_SHARED asm volatile("" ::: "memory")
#define SHARED(type, name, size) __shared__ type name size
#define OWN(type, name, size) type name size
#define OF(name) name
#define ATOMIC_MAX(place, value) atomicMax(place, value)
#define UNROLL _Pragma("unroll")
#define UNROLL_1 _Pragma("unroll 1")
#define UNROLL_2 _Pragma("unroll 2")
#if __CUDA_ARCH__ >= 800
#define HAS_MATRIX_UNITS
#endif
#define BLOCK_X ((long long)blockIdx.x)
#define BLOCK_Y ((long long)blockIdx.y)
#define N_BLOCKS_X ((long long)gridDim.x)
#define N_THREADS ((int)blockDim.x)
extern __shared__ double dynamic_shared[];
#endif

typedef long long whole;

#define WIDTH (16 / (int)sizeof(REAL)) /* rows that a thread reads at a time */
#define EVALUATORS 128                 /* threads of a block that evaluates */
#define PANEL 2048                     /* rows whose sums are made in REAL; as on the CPU */
#define STAGE 32                       /* rows in shared memory at a time */
#define TILE 64                        /* programs, and samples, of a block */
#define SUMMERS 256                    /* threads that add up numbers, in pairs, always the same */
#define COPY 0                         /* steps that are no primitives */
#define FILL 1

DEVICE REAL size_of(REAL x) { return x < 0 ? -x : x; }

/* Primitives come here, and CASES. */

typedef struct ALIGNED(16) { REAL at[16 / sizeof(REAL)]; } Rows;
/* A place is the address of row 0 of a vector, or -1 - i for scratch row i. The code is in the last byte of `out`. */
typedef struct ALIGNED(16) { whole out, left, right; double scalar; } Step;

DEVICE Rows rows_at(whole place, whole offset, const Rows *scratch, const Rows *spill, int n_shared)
{
    if (place >= 0) return *(const Rows *)(place + offset);
    whole i = -1 - place;
    return i < n_shared ? scratch[i * EVALUATORS] : spill[(i - n_shared) * EVALUATORS];
}

/* All steps on rows `start` to `stop`; scratch rows from `n_shared` on lie in `spill`, `n_spilled` for each block. */
KERNEL(EVALUATORS) evaluate(const Step *steps, whole n_steps, whole start, whole stop, Rows *spill, whole n_shared,
                            whole n_spilled)
{
    for (whole tile = BLOCK_X; start + tile * (EVALUATORS * WIDTH) < stop; tile += N_BLOCKS_X) {
        EACH_THREAD {
            whole row = start + (tile * EVALUATORS + thread) * WIDTH;
            whole offset = row * (whole)sizeof(REAL);
            Rows *scratch = (Rows *)dynamic_shared + thread;
            Rows *own_spill = spill + BLOCK_X * n_spilled * EVALUATORS + thread;
            Step next = steps[0];
            for (whole k = 0; row < stop && k < n_steps; ++k) {
                Step step = next;
                if (k + 1 < n_steps) next = steps[k + 1];
                REAL e = (REAL)step.scalar;
                Rows a = {{0}}, b, r;
                int code = (int)(step.out & 255);
                if (code != FILL) a = rows_at(step.left, offset, scratch, own_spill, (int)n_shared);
                b = step.right == step.left ? a : rows_at(step.right, offset, scratch, own_spill, (int)n_shared);
                r = a;
                switch (code) {
                case COPY: break;
                case FILL: UNROLL for (int i = 0; i < WIDTH; ++i) r.at[i] = e; break;
#define CASE(code, f) case code: UNROLL for (int i = 0; i < WIDTH; ++i) r.at[i] = f(a.at[i], b.at[i], e); break;
                CASES
                }
                whole out = step.out >> 8;
                if (out >= 0) *(Rows *)(out + offset) = r;
                else if (-1 - out < n_shared) scratch[(-1 - out) * EVALUATORS] = r;
                else own_spill[(-1 - out - n_shared) * EVALUATORS] = r;
            }
        }
    }
}

/* Weight of a row in sample j: its count, of one byte or a REAL, times its own weight, if there is one. */
typedef struct { const unsigned char *bytes; const REAL *counts, *row_weight; whole n_rows; } Weights;

DEVICE REAL weight_of(const Weights *w, whole j, whole row)
{
    REAL count = w->bytes ? (REAL)w->bytes[j * w->n_rows + row] : w->counts[j * w->n_rows + row];
    return w->row_weight ? count * w->row_weight[row] : count;
}

DEVICE BITS bits_of(REAL x)
{
    union { REAL x; BITS bits; } both;
    both.x = x;
    return both.bits;
}

/* Moments of TILE programs and TILE samples on a panel: each output is read once, and enters three sums.

Outputs are rows of `stride` numbers that begin at row `start`. Sums go to parts (panel, 3, program, sample); `reach`
keeps the bits of the largest |output - shift|, with NaN on top. */
KERNEL(256) moments(const REAL *outputs, whole stride, whole n_programs, whole start, whole stop, const REAL *shift,
                    const REAL *inverse, const unsigned char *bytes, const REAL *counts, const REAL *row_weight,
                    whole n_rows, whole n_samples, const REAL *target, REAL *parts, BITS *reach)
{
    SHARED(REAL, z, [STAGE][TILE + 4]);
    SHARED(REAL, w, [STAGE][TILE + 4]);
    SHARED(REAL, t, [STAGE]);
    OWN(REAL, first, [4][4]);
    OWN(REAL, cross, [4][4]);
    OWN(REAL, second, [4][4]);
    OWN(BITS, largest, [1]);
    Weights weights = {bytes, counts, row_weight, n_rows};
    whole n_tiles = (n_samples + TILE - 1) / TILE;
    whole first_program = BLOCK_Y / n_tiles * TILE, first_sample = BLOCK_Y % n_tiles * TILE;
    whole low = start + BLOCK_X * PANEL, high = low + PANEL < stop ? low + PANEL : stop;
    EACH_THREAD {
        OF(largest)[0] = 0;
        for (int i = 0; i < 4; ++i)
            for (int j = 0; j < 4; ++j) OF(first)[i][j] = OF(cross)[i][j] = OF(second)[i][j] = 0;
    }
    for (whole stage = low; stage < high; stage += STAGE) {
        EACH_THREAD {
            whole p = first_program + thread % TILE, j = first_sample + thread % TILE;
            whole first_row = thread / TILE * (STAGE / 4);
            for (whole i = first_row; i < first_row + STAGE / 4; ++i) {
                whole row = stage + i;
                REAL value = 0;
                if (p < n_programs && row < high) {
                    REAL difference = outputs[p * stride + row - start] - shift[p];
                    BITS bits = bits_of(size_of(difference));
                    if (difference != difference) bits = bits_of((REAL)NOT_A_NUMBER);
                    if (bits > OF(largest)[0]) OF(largest)[0] = bits;
                    value = difference * inverse[p];
                }
                z[i][thread % TILE] = value;
                w[i][thread % TILE] = j < n_samples && row < high ? weight_of(&weights, j, row) : (REAL)0;
            }
            if (thread < STAGE) t[thread] = stage + thread < high ? target[stage + thread] : (REAL)0;
        }
        SYNC;
        EACH_THREAD {
            int p = thread % 16 * 4, j = thread / 16 * 4;
            for (int k = 0; k < STAGE; ++k) {
                UNROLL for (int a = 0; a < 4; ++a) {
                    REAL x = z[k][p + a], xt = x * t[k], xx = x * x;
                    UNROLL for (int b = 0; b < 4; ++b) {
                        REAL y = w[k][j + b];
                        OF(first)[a][b] = fma(x, y, OF(first)[a][b]);
                        OF(cross)[a][b] = fma(xt, y, OF(cross)[a][b]);
                        OF(second)[a][b] = fma(xx, y, OF(second)[a][b]);
                    }
                }
            }
        }
        SYNC;
    }
    EACH_THREAD {
        whole p = first_program + thread % 16 * 4, j = first_sample + thread / 16 * 4;
        whole size = n_programs * n_samples;
        REAL *own = parts + BLOCK_X * 3 * size;
        for (int a = 0; a < 4; ++a)
            for (int b = 0; b < 4; ++b)
                if (p + a < n_programs && j + b < n_samples) {
                    whole at = (p + a) * n_samples + j + b;
                    own[at] = OF(first)[a][b];
                    own[size + at] = OF(cross)[a][b];
                    own[2 * size + at] = OF(second)[a][b];
                }
        if (first_program + thread % TILE < n_programs)
            ATOMIC_MAX(reach + first_program + thread % TILE, OF(largest)[0]);
    }
}

/* Sums of a loss on a panel for TILE programs and TILE samples, to parts (panel, program, sample). NaN if an output is
not finite; else rows of weight zero do not enter. */
#define ERRORS(name, NUMBER, LOSS)                                                                                     \
    KERNEL(256)                                                                                                        \
    name(const REAL *outputs, whole stride, whole n_programs, whole start, whole stop, const NUMBER *slope,            \
         const NUMBER *intercept, const unsigned char *bytes, const REAL *counts, const REAL *row_weight,              \
         whole n_rows, whole n_samples, const double *target, double c0, double c1, double c2, double *parts)          \
    {                                                                                                                  \
        SHARED(REAL, o, [STAGE][TILE + 4]);                                                                            \
        SHARED(REAL, w, [STAGE][TILE + 4]);                                                                            \
        SHARED(double, t, [STAGE]);                                                                                    \
        OWN(NUMBER, sums, [4][4]);                                                                                     \
        OWN(NUMBER, poison, [4]);                                                                                      \
        Weights weights = {bytes, counts, row_weight, n_rows};                                                         \
        whole n_tiles = (n_samples + TILE - 1) / TILE;                                                                 \
        whole first_program = BLOCK_Y / n_tiles * TILE, first_sample = BLOCK_Y % n_tiles * TILE;                       \
        whole low = start + BLOCK_X * PANEL, high = low + PANEL < stop ? low + PANEL : stop;                           \
        EACH_THREAD                                                                                                    \
        {                                                                                                              \
            for (int a = 0; a < 4; ++a) {                                                                              \
                OF(poison)[a] = 0;                                                                                     \
                for (int b = 0; b < 4; ++b) OF(sums)[a][b] = 0;                                                        \
            }                                                                                                          \
        }                                                                                                              \
        for (whole stage = low; stage < high; stage += STAGE) {                                                        \
            EACH_THREAD                                                                                                \
            {                                                                                                          \
                whole p = first_program + thread % TILE, j = first_sample + thread % TILE;                             \
                whole first_row = thread / TILE * (STAGE / 4);                                                         \
                for (whole i = first_row; i < first_row + STAGE / 4; ++i) {                                            \
                    whole row = stage + i;                                                                             \
                    o[i][thread % TILE] = p < n_programs && row < high ? outputs[p * stride + row - start] : (REAL)0;  \
                    w[i][thread % TILE] = j < n_samples && row < high ? weight_of(&weights, j, row) : (REAL)0;         \
                }                                                                                                      \
                if (thread < STAGE) t[thread] = stage + thread < high ? target[stage + thread] : 0;                    \
            }                                                                                                          \
            SYNC;                                                                                                      \
            EACH_THREAD                                                                                                \
            {                                                                                                          \
                int p = thread % 16 * 4, j = thread / 16 * 4;                                                          \
                NUMBER A[4][4], B[4][4];                                                                               \
                UNROLL for (int a = 0; a < 4; ++a) UNROLL for (int b = 0; b < 4; ++b)                                  \
                {                                                                                                      \
                    int is_there = first_program + p + a < n_programs && first_sample + j + b < n_samples;             \
                    whole at = (first_program + p + a) * n_samples + first_sample + j + b;                             \
                    A[a][b] = is_there ? slope[at] : (NUMBER)0;                                                        \
                    B[a][b] = is_there ? intercept[at] : (NUMBER)0;                                                    \
                }                                                                                                      \
                for (int k = 0; k < STAGE; ++k) {                                                                      \
                    double y = t[k];                                                                                   \
                    UNROLL for (int a = 0; a < 4; ++a)                                                                 \
                    {                                                                                                  \
                        NUMBER x = (NUMBER)o[k][p + a];                                                                \
                        OF(poison)[a] += x - x;                                                                        \
                        UNROLL for (int b = 0; b < 4; ++b)                                                             \
                        {                                                                                              \
                            NUMBER weight = (NUMBER)w[k][j + b], scaled = B[a][b] + A[a][b] * x;                       \
                            NUMBER loss = LOSS;                                                                        \
                            OF(sums)[a][b] += weight != 0 ? weight * loss : (NUMBER)0;                                 \
                        }                                                                                              \
                    }                                                                                                  \
                }                                                                                                      \
            }                                                                                                          \
            SYNC;                                                                                                      \
        }                                                                                                              \
        EACH_THREAD                                                                                                    \
        {                                                                                                              \
            whole p = first_program + thread % 16 * 4, j = first_sample + thread / 16 * 4;                             \
            for (int a = 0; a < 4; ++a)                                                                                \
                for (int b = 0; b < 4; ++b)                                                                            \
                    if (p + a < n_programs && j + b < n_samples)                                                       \
                        parts[(BLOCK_X * n_programs + p + a) * n_samples + j + b] =                                    \
                            (double)(OF(sums)[a][b] + OF(poison)[a]);                                                  \
        }                                                                                                              \
    }

DEVICE double deviation(double residual, double above, double below, double delta)
{
    double size = residual < 0 ? -residual : residual;
    if (delta > 0) {
        double inner = size < delta ? size : delta;
        size = inner * (size - 0.5 * inner);
    }
    return (residual > 0 ? above : below) * size;
}

ERRORS(sum_squared, double, (scaled - y) * (scaled - y))
ERRORS(sum_misclassified, REAL, (scaled > (REAL)c0) != (y > 0) ? (REAL)1 : (REAL)0)
ERRORS(sum_deviations, double, deviation(y - scaled, c0, c1, c2))
#ifdef OWN_LOSS
ERRORS(sum_own_loss, double, own_loss(y, scaled))
#endif


/* Sums in float64 about a centre for pairs of program and sample, without rows of weight zero, to
parts (tile, pair, 4): z, z * target, z * z with weights, and the largest |output - shift|. */
KERNEL(SUMMERS) sum_exact(const REAL *outputs, whole stride, whole start, whole stop, const whole *program,
                          const whole *sample, const double *shift, const double *scale, const unsigned char *bytes,
                          const REAL *counts, const REAL *row_weight, whole n_rows, const double *target,
                          whole tile_rows, whole n_pairs, double *parts)
{
    SHARED(double, sums, [4][SUMMERS]);
    Weights weights = {bytes, counts, row_weight, n_rows};
    whole low = start + BLOCK_Y * tile_rows, high = low + tile_rows < stop ? low + tile_rows : stop;
    EACH_THREAD {
        whole p = program[BLOCK_X], j = sample[BLOCK_X];
        double c = shift[BLOCK_X], s = scale[BLOCK_X], first = 0, cross = 0, second = 0, largest = 0;
        for (whole row = low + thread; row < high; row += SUMMERS) {
            double w = weight_of(&weights, j, row);
            if (w != 0) {
                double difference = outputs[p * stride + row - start] - c, z = difference / s;
                double size = difference < 0 ? -difference : difference;
                first += w * z;
                cross += w * z * target[row];
                second += w * z * z;
                largest = size > largest || size != size ? size : largest;
            }
        }
        sums[0][thread] = first;
        sums[1][thread] = cross;
        sums[2][thread] = second;
        sums[3][thread] = largest;
    }
    SYNC;
    for (int half = SUMMERS / 2; half > 0; half /= 2) {
        EACH_THREAD {
            if (thread < half) {
                for (int i = 0; i < 3; ++i) sums[i][thread] += sums[i][thread + half];
                double other = sums[3][thread + half];
                if (other > sums[3][thread] || other != other) sums[3][thread] = other;
            }
        }
        SYNC;
    }
    EACH_THREAD {
        if (thread < 4) parts[(BLOCK_Y * n_pairs + BLOCK_X) * 4 + thread] = sums[thread][0];
    }
}

/* Add parts (n_parts, n) to `out`, in their order. */
#define ADD_UP(name, NUMBER)                                                                                           \
    KERNEL(SUMMERS) name(const NUMBER *parts, whole n_parts, whole n, double *out)                                     \
    {                                                                                                                  \
        EACH_THREAD                                                                                                    \
        {                                                                                                              \
            whole i = BLOCK_X * SUMMERS + thread;                                                                      \
            if (i < n) {                                                                                               \
                double total = out[i];                                                                                 \
                for (whole part = 0; part < n_parts; ++part) total += (double)parts[part * n + i];                     \
                out[i] = total;                                                                                        \
            }                                                                                                          \
        }                                                                                                              \
    }
ADD_UP(add_reals, REAL)
ADD_UP(add_doubles, double)

/* Sums of terms on every row: entry k of member m adds a coefficient times a program's term, which is its output,
centred, scaled, kept within limits, and 0 where it is not finite. */
KERNEL(SUMMERS) weigh(const REAL *outputs, whole stride, whole start, whole stop, const double *centre,
                      const double *factor, const double *low, const double *high, const whole *first,
                      const whole *program, const double *coefficient, double *sums, whole sums_stride)
{
    EACH_THREAD {
        whole row = BLOCK_X * SUMMERS + thread;
        if (row < stop - start) {
            double total = sums[BLOCK_Y * sums_stride + row];
            for (whole k = first[BLOCK_Y]; k < first[BLOCK_Y + 1]; ++k) {
                whole p = program[k];
                double z = ((double)outputs[p * stride + row] - centre[p]) * factor[p];
                z = z < low[p] ? low[p] : z;
                z = z > high[p] ? high[p] : z;
                total += coefficient[k] * (z - z == 0 ? z : 0);
            }
            sums[BLOCK_Y * sums_stride + row] = total;
        }
    }
}
