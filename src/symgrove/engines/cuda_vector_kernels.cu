/* Vectors that stay: where they lie, whether in float64 (else float32), and how they are read, as (x - centre) * scale. */

typedef struct { const whole *address; const unsigned char *is_double; const double *centre, *scale; } Places;

DEVICE double stored(const Places *v, whole k, whole row)
{
    return v->is_double[k] ? ((const double *)v->address[k])[row] : (double)((const float *)v->address[k])[row];
}

DEVICE double number_of(const Places *v, whole k, whole row)
{
    return (stored(v, k, row) - v->centre[k]) * v->scale[k];
}

/* Rows `start` to `stop` of vectors, as they are read, to rows of `out` of `stride` numbers. */
KERNEL(SUMMERS) gather(const whole *address, const unsigned char *is_double, const double *centre, const double *scale,
                       whole start, whole stop, double *out, whole stride)
{
    Places v = {address, is_double, centre, scale};
    EACH_THREAD {
        whole row = start + BLOCK_X * SUMMERS + thread;
        if (row < stop) out[BLOCK_Y * stride + row - start] = number_of(&v, BLOCK_Y, row);
    }
}

/* Linear combinations: row i of `out` is of the vectors in row i of the index, (n, n_terms). */
KERNEL(SUMMERS) combine(const whole *address, const unsigned char *is_double, const double *centre, const double *scale,
                        const whole *index, const double *coefficients, whole n_terms, whole n_rows, double *out,
                        whole stride)
{
    Places v = {address, is_double, centre, scale};
    EACH_THREAD {
        whole row = (BLOCK_X * SUMMERS + thread) * 4;
        if (row < n_rows) {
            double total[4] = {0, 0, 0, 0};
            for (whole j = 0; j < n_terms; ++j) {
                whole k = index[BLOCK_Y * n_terms + j];
                double coefficient = coefficients[BLOCK_Y * n_terms + j];
                if (k < 0 || coefficient == 0) continue;
                double c = v.centre[k], s = v.scale[k];
                if (v.is_double[k]) {
                    const double *x = (const double *)v.address[k] + row;
                    UNROLL for (int i = 0; i < 4; ++i) total[i] += (x[i] - c) * s * coefficient;
                } else {
                    const float *x = (const float *)v.address[k] + row;
                    UNROLL for (int i = 0; i < 4; ++i) total[i] += ((double)x[i] - c) * s * coefficient;
                }
            }
            UNROLL for (int i = 0; i < 4; ++i) out[BLOCK_Y * stride + row + i] = total[i];
        }
    }
}

/* Squared lengths: vector i of `out` is of factor i times (the vectors in row i of the index, less centre i). */
KERNEL(SUMMERS) measure(const whole *address, const unsigned char *is_double, const double *centre, const double *scale,
                        const whole *index, const double *centres, const double *factors, whole n_terms, whole n_rows,
                        double *out, whole stride)
{
    Places v = {address, is_double, centre, scale};
    EACH_THREAD {
        whole row = BLOCK_X * SUMMERS + thread;
        if (row < n_rows) {
            double total = 0;
            for (whole a = 0; a < n_terms; ++a) {
                if (index[BLOCK_Y * n_terms + a] < 0) continue;
                double coordinate = 0;
                for (whole b = 0; b < n_terms; ++b) {
                    whole k = index[BLOCK_Y * n_terms + b];
                    double factor = factors[(BLOCK_Y * n_terms + a) * n_terms + b];
                    if (k < 0 || factor == 0) continue;
                    coordinate += factor * (number_of(&v, k, row) - centres[BLOCK_Y * n_terms + b]);
                }
                total += coordinate * coordinate;
            }
            out[BLOCK_Y * stride + row] = total;
        }
    }
}

/* A vector in shared memory; its kind is the size of a number, or 0 where there is none. */
typedef struct ALIGNED(16) { whole address; double centre, scale; int kind; } Vector;

DEVICE Vector vector_of(const Places *v, whole k)
{
    Vector found = {0, 0, 0, 0};
    if (k >= 0) {
        found.address = v->address[k];
        found.centre = v->centre[k];
        found.scale = v->scale[k];
        found.kind = v->is_double[k] ? 8 : 4;
    }
    return found;
}

/* Weights of a product; all one if there are none. */
DEVICE Vector weights_of(const Places *v, whole product, whole is_weighted)
{
    Vector found = vector_of(v, is_weighted ? product : -1);
    if (!is_weighted) found.centre = -1, found.scale = 1;
    return found;
}

/* What stands at a row before `high`. Halves of several vectors are read before the first becomes a number, so that they
wait together; two registers, because one that either of two loads may write waits for the first. */
typedef struct { unsigned low, high; } Halves;

DEVICE Halves halves_of(const Vector *v, whole row, whole high)
{
    Halves found = {0, 0};
    int kind = row < high ? v->kind : 0;
    whole place = v->address + row * kind;
    if (kind != 0) found.low = *(const unsigned *)place;
    if (kind == 8) found.high = *(const unsigned *)(place + 4);
    return found;
}

DEVICE double number_in(const Vector *v, Halves halves)
{
    union { Halves halves; double number; } wide;
    union { unsigned low; float number; } narrow;
    wide.halves = halves;
    narrow.low = halves.low;
    return ((v->kind == 8 ? wide.number : (double)narrow.number) - v->centre) * v->scale;
}

/* Products of vectors on the left with others on the right, on rows of a chunk, summed, to parts (chunk, product, n_left,
n_right). Weights enter on the left. */
#define PRODUCTS                                                                                                       \
    const whole *l_address, const unsigned char *l_is_double, const double *l_centre, const double *l_scale,           \
        const whole *r_address, const unsigned char *r_is_double, const double *r_centre, const double *r_scale,       \
        const whole *w_address, const unsigned char *w_is_double, const double *w_centre, const double *w_scale,       \
        const whole *left_index, const whole *right_index, whole is_weighted, whole is_squared, whole is_symmetric,    \
        whole n_products, whole n_left, whole n_right, whole chunk_rows, whole n_rows, double *parts
/* The tile of a block, of N_LEFT by N_RIGHT vectors: the left ones in shared memory, then the right ones, then weights. */
#define TILE_OF_PRODUCTS(N_LEFT, N_RIGHT)                                                                              \
    Places left = {l_address, l_is_double, l_centre, l_scale}, right = {r_address, r_is_double, r_centre, r_scale};    \
    Places weights = {w_address, w_is_double, w_centre, w_scale};                                                      \
    whole n_right_tiles = (n_right + N_RIGHT - 1) / N_RIGHT, n_left_tiles = (n_left + N_LEFT - 1) / N_LEFT;            \
    whole product = BLOCK_X / (n_left_tiles * n_right_tiles);                                                          \
    whole first_left = BLOCK_X / n_right_tiles % n_left_tiles * N_LEFT;                                                \
    whole first_right = BLOCK_X % n_right_tiles * N_RIGHT;                                                             \
    whole low = BLOCK_Y * chunk_rows, high = low + chunk_rows < n_rows ? low + chunk_rows : n_rows;                    \
    double *own_parts = parts + (BLOCK_Y * n_products + product) * n_left * n_right

#define FIND_VECTORS(N_LEFT, N_RIGHT)                                                                                  \
    if (thread < N_LEFT) {                                                                                             \
        whole a = first_left + thread;                                                                                 \
        vectors[thread] = vector_of(&left, a < n_left ? left_index[product * n_left + a] : -1);                        \
    } else if (thread < N_LEFT + N_RIGHT) {                                                                            \
        whole b = first_right + thread - N_LEFT;                                                                       \
        vectors[thread] = vector_of(&right, b < n_right ? right_index[product * n_right + b] : -1);                    \
    } else if (thread == N_LEFT + N_RIGHT)                                                                             \
        vectors[thread] = weights_of(&weights, product, is_weighted);

/* One vector on the left: a thread has some rows of it and of eight others. */
#define EIGHT 8
KERNEL(SUMMERS) multiply_few(PRODUCTS)
{
    SHARED(Vector, vectors, [EIGHT + 2]);
    SHARED(double, all, [EIGHT][SUMMERS]);
    TILE_OF_PRODUCTS(1, EIGHT);
    EACH_THREAD { FIND_VECTORS(1, EIGHT) }
    SYNC;
    EACH_THREAD {
        double sums[EIGHT];
        UNROLL for (int v = 0; v < EIGHT; ++v) sums[v] = 0;
        UNROLL_1 for (whole row = low + thread; row < high; row += SUMMERS) {
            FORGET_SHARED; /* or else places of vectors take registers, and fewer threads can wait for rows at once */
            Halves read[EIGHT + 2];
            UNROLL for (int v = 0; v < EIGHT + 2; ++v) read[v] = halves_of(&vectors[v], row, high);
            double own = number_in(&vectors[0], read[0]) * number_in(&vectors[EIGHT + 1], read[EIGHT + 1]);
            UNROLL for (int v = 0; v < EIGHT; ++v) {
                double value = number_in(&vectors[1 + v], read[1 + v]);
                sums[v] = fma(own, is_squared ? value * value : value, sums[v]);
            }
        }
        UNROLL for (int v = 0; v < EIGHT; ++v) all[v][thread] = sums[v];
    }
    SYNC;
    for (int half = SUMMERS / 2; half > 0; half /= 2) {
        EACH_THREAD { for (int v = 0; thread < half && v < EIGHT; ++v) all[v][thread] += all[v][thread + half]; }
        SYNC;
    }
    EACH_THREAD {
        if (thread < EIGHT && first_right + thread < n_right)
            own_parts[first_left * n_right + first_right + thread] = all[thread][0];
    }
}

/* A warp makes 16 x 32 products of rows in shared memory, a thread 16 of them. With matrix units they are squares of 8 x 8,
or pairs of these. */
#define STEP_ROWS 32
#define STRIDE (STEP_ROWS + 4)
#ifdef HAS_MATRIX_UNITS
DEVICE int left_of(int lane, int i) { return i / 8 * 8 + lane / 4; }
DEVICE int right_of(int lane, int i) { return i / 2 % 4 * 8 + lane % 4 * 2 + i % 2; }
DEVICE void add_products(const double (*x)[STRIDE], const double (*y)[STRIDE], const double *w, int lane, double *sums)
{
    int v = lane / 4, k = lane % 4;
    UNROLL for (int step = 0; step < STEP_ROWS; step += 4) {
        double weight = w[step + k], p[2] = {x[v][step + k] * weight, x[v + 8][step + k] * weight};
        double q[4] = {y[v][step + k], y[v + 8][step + k], y[v + 16][step + k], y[v + 24][step + k]};
        UNROLL for (int j = 0; j < 4; ++j) {
            double *upper = sums + 2 * j, *lower = upper + 8;
#if __CUDA_ARCH__ >= 900
            asm("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
                : "+d"(upper[0]), "+d"(upper[1]), "+d"(lower[0]), "+d"(lower[1])
                : "d"(p[0]), "d"(p[1]), "d"(q[j]));
#else
            asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
                : "+d"(upper[0]), "+d"(upper[1]) : "d"(p[0]), "d"(q[j]));
            asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
                : "+d"(lower[0]), "+d"(lower[1]) : "d"(p[1]), "d"(q[j]));
#endif
        }
    }
}
#else
DEVICE int left_of(int lane, int i) { return lane / 8 * 4 + i / 4; }
DEVICE int right_of(int lane, int i) { return lane % 8 * 4 + i % 4; }
DEVICE void add_products(const double (*x)[STRIDE], const double (*y)[STRIDE], const double *w, int lane, double *sums)
{
    for (int k = 0; k < STEP_ROWS; ++k)
        UNROLL for (int i = 0; i < 16; ++i)
            sums[i] = fma(x[left_of(lane, i)][k] * w[k], y[right_of(lane, i)][k], sums[i]);
}
#endif

/* MANY vectors on the left, RIGHT on the right. A warp reads 32 rows of eight vectors at a time. */
#define MANY 32
#define RIGHT 64
#define MULTIPLIERS 128
KERNEL(MULTIPLIERS) multiply_many(PRODUCTS)
{
    SHARED(Vector, vectors, [MANY + RIGHT + 1]);
    SHARED(double, x, [MANY + RIGHT][STRIDE]);
    SHARED(double, w, [STEP_ROWS]);
    OWN(double, sums, [16]);
    TILE_OF_PRODUCTS(MANY, RIGHT);
    if (is_symmetric && first_right + RIGHT <= first_left) return; /* the host knows these from above the diagonal */
    EACH_THREAD {
        FIND_VECTORS(MANY, RIGHT)
        UNROLL for (int i = 0; i < 16; ++i) OF(sums)[i] = 0;
    }
    SYNC;
    for (whole stage = low; stage < high; stage += STEP_ROWS) {
        EACH_THREAD {
            int i = thread % 32, warp = thread / 32;
            whole row = stage + i;
            const Vector *weight = &vectors[MANY + RIGHT];
            Halves of_weight = halves_of(weight, row, high);
            for (int first = warp; first < MANY + RIGHT; first += 8 * MULTIPLIERS / 32) {
                Halves read[8];
                UNROLL for (int k = 0; k < 8; ++k)
                    read[k] = halves_of(&vectors[first + k * MULTIPLIERS / 32], row, high);
                UNROLL for (int k = 0; k < 8; ++k) {
                    int v = first + k * MULTIPLIERS / 32;
                    double value = row < high ? number_in(&vectors[v], read[k]) : 0;
                    x[v][i] = is_squared && v >= MANY ? value * value : value;
                }
            }
            if (warp == 0) w[i] = row < high ? number_in(weight, of_weight) : 0;
        }
        SYNC;
        EACH_THREAD { add_products(x + thread / 64 * 16, x + MANY + thread / 32 % 2 * 32, w, thread % 32, OF(sums)); }
        SYNC;
    }
    EACH_THREAD {
        UNROLL for (int i = 0; i < 16; ++i) {
            whole a = first_left + thread / 64 * 16 + left_of(thread % 32, i);
            whole b = first_right + thread / 32 % 2 * 32 + right_of(thread % 32, i);
            if (a < n_left && b < n_right) own_parts[a * n_right + b] = OF(sums)[i];
        }
    }
}

/* Up to TOGETHER vectors with themselves. A block reads each once, and has a warp for each tile that reaches above the
diagonal; the next rows are read while these are multiplied. */
#define TOGETHER 128
#define AHEAD 9 /* vectors, weights among them, of which a warp reads rows */
#define MOST_WARPS 20

/* Tiles are numbered column after column: 8 times the column, plus the row. */
DEVICE int tile_of(int warp, int n)
{
    int column = 0, n_tiles = (n + 15) / 16;
    for (int own = 2 < n_tiles ? 2 : n_tiles; warp >= own; own = 2 * column + 2 < n_tiles ? 2 * column + 2 : n_tiles) {
        warp -= own;
        ++column;
    }
    return 8 * column + warp;
}

#define READ_AHEAD(stage)                                                                                              \
    UNROLL for (int k = 0; k < AHEAD; ++k)                                                                             \
    {                                                                                                                  \
        int v = thread / 32 + k * (N_THREADS / 32);                                                                    \
        if (k * (N_THREADS / 32) <= n) OF(ahead)[k] = halves_of(&vectors[v], (stage) + thread % 32, high);             \
    }

KERNEL(32 * MOST_WARPS) multiply_together(const whole *address, const unsigned char *is_double, const double *centre,
                              const double *scale, const whole *w_address, const unsigned char *w_is_double,
                              const double *w_centre, const double *w_scale, const whole *index, whole is_weighted,
                              whole n_products, whole n, whole chunk_rows, whole n_rows, double *parts)
{
    SHARED(Vector, vectors, [MOST_WARPS * AHEAD]);
    SHARED(double, x, [TOGETHER + 1][STRIDE]); /* weights follow the vectors */
    OWN(double, sums, [16]);
    OWN(Halves, ahead, [AHEAD]);
    Places places = {address, is_double, centre, scale}, weights = {w_address, w_is_double, w_centre, w_scale};
    whole low = BLOCK_Y * chunk_rows, high = low + chunk_rows < n_rows ? low + chunk_rows : n_rows;
    double *own_parts = parts + (BLOCK_Y * n_products + BLOCK_X) * n * n;
    EACH_THREAD {
        if (thread < MOST_WARPS * AHEAD)
            vectors[thread] = vector_of(&places, thread < n ? index[BLOCK_X * n + thread] : -1);
        if (thread == n) vectors[thread] = weights_of(&weights, BLOCK_X, is_weighted);
        UNROLL for (int i = 0; i < 16; ++i) OF(sums)[i] = 0;
    }
    SYNC;
    EACH_THREAD { READ_AHEAD(low) }
    for (whole stage = low; stage < high; stage += STEP_ROWS) {
        EACH_THREAD {
            UNROLL for (int k = 0; k < AHEAD; ++k) {
                int v = thread / 32 + k * (N_THREADS / 32);
                if (v <= n) x[v][thread % 32] = stage + thread % 32 < high ? number_in(&vectors[v], OF(ahead)[k]) : 0;
            }
        }
        SYNC;
        EACH_THREAD {
            int tile = tile_of(thread / 32, (int)n), a = tile % 8 * 16, b = tile / 8 * 32;
            READ_AHEAD(stage + STEP_ROWS)
            if (b < n) add_products(x + a, x + b, x[n], thread % 32, OF(sums));
        }
        SYNC;
    }
    EACH_THREAD {
        int tile = tile_of(thread / 32, (int)n);
        UNROLL for (int i = 0; i < 16; ++i) {
            whole a = tile % 8 * 16 + left_of(thread % 32, i), b = tile / 8 * 32 + right_of(thread % 32, i);
            if (a < n && b < n) own_parts[a * n + b] = OF(sums)[i];
        }
    }
}

/* Sums of products of two vectors and a weight, (3, n) places, without rows of weight zero. */
KERNEL(SUMMERS) mend(const whole *address, const unsigned char *is_double, const double *centre, const double *scale,
                     const whole *index, whole is_weighted, whole n, whole n_rows, double *out)
{
    SHARED(double, sums, [SUMMERS]);
    Places v = {address, is_double, centre, scale};
    EACH_THREAD {
        double total = 0;
        for (whole row = thread; row < n_rows; row += SUMMERS) {
            double w = is_weighted ? number_of(&v, index[2 * n + BLOCK_X], row) : 1;
            if (w != 0) total += w * number_of(&v, index[BLOCK_X], row) * number_of(&v, index[n + BLOCK_X], row);
        }
        sums[thread] = total;
    }
    SYNC;
    for (int half = SUMMERS / 2; half > 0; half /= 2) {
        EACH_THREAD { if (thread < half) sums[thread] += sums[thread + half]; }
        SYNC;
    }
    EACH_THREAD { if (thread == 0) out[BLOCK_X] = sums[0]; }
}

/* Sums of rows of values (n, stride), or of their products with weights where these are not zero, to parts (tile, n). */
KERNEL(SUMMERS) sum_rows(const double *values, const double *weights, whole stride, whole n_rows, whole tile_rows,
                         whole n, double *parts)
{
    SHARED(double, sums, [SUMMERS]);
    whole low = BLOCK_Y * tile_rows, high = low + tile_rows < n_rows ? low + tile_rows : n_rows;
    EACH_THREAD {
        double total = 0;
        for (whole row = low + thread; row < high; row += SUMMERS) {
            double value = values[BLOCK_X * stride + row], w = weights ? weights[BLOCK_X * stride + row] : 1;
            if (w != 0) total += value * w;
        }
        sums[thread] = total;
    }
    SYNC;
    for (int half = SUMMERS / 2; half > 0; half /= 2) {
        EACH_THREAD { if (thread < half) sums[thread] += sums[thread + half]; }
        SYNC;
    }
    EACH_THREAD { if (thread == 0) parts[BLOCK_Y * n + BLOCK_X] = sums[0]; }
}

/* Of stored vectors on a tile, to parts (vector, tile, 6): lowest, highest, weight, mean, squares about it, product with
a direction. Lowest and highest are NaN if a value is not finite. A block has VECTORS of them, which read weights and
direction once. Sums are about the median of nine spread rows, so that they lose few digits. */
#define VECTORS 4
#define N_LOOKS 9
#define N_SUMS 7

KERNEL(SUMMERS) summarize(const whole *address, const unsigned char *is_double, const double *weight,
                          const double *direction, whole n_vectors, whole n_rows, whole tile_rows, whole n_tiles,
                          double *parts)
{
    SHARED(double, sums, [N_SUMS][SUMMERS]);
    SHARED(double, middle, [VECTORS]);
    OWN(double, own, [VECTORS][N_SUMS]);
    Places v = {address, is_double, 0, 0};
    whole low = BLOCK_X * tile_rows, high = low + tile_rows < n_rows ? low + tile_rows : n_rows;
    whole k0 = BLOCK_Y * VECTORS;
    EACH_THREAD {
        if (thread < VECTORS && k0 + thread < n_vectors) {
            double looks[N_LOOKS];
            for (int i = 0; i < N_LOOKS; ++i) {
                double value = stored(&v, k0 + thread, low + i * (high - low - 1) / (N_LOOKS - 1));
                int place = i;
                for (; place > 0 && looks[place - 1] > value; --place) looks[place] = looks[place - 1];
                looks[place] = value;
            }
            middle[thread] = looks[N_LOOKS / 2];
            if (middle[thread] - middle[thread] != 0) middle[thread] = 0;
        }
    }
    SYNC;
    EACH_THREAD {
        UNROLL for (int m = 0; m < VECTORS; ++m) {
            OF(own)[m][0] = INFINITE;
            OF(own)[m][1] = -INFINITE;
            UNROLL for (int i = 2; i < N_SUMS; ++i) OF(own)[m][i] = 0;
        }
        UNROLL_2 for (whole row = low + thread; row < high; row += SUMMERS) {
            double w = weight[row], d = direction[row];
            UNROLL for (int m = 0; m < VECTORS; ++m) {
                double value = stored(&v, k0 + m < n_vectors ? k0 + m : k0, row), distance = value - middle[m];
                double weighted = w * distance;
                OF(own)[m][0] = value < OF(own)[m][0] ? value : OF(own)[m][0];
                OF(own)[m][1] = value > OF(own)[m][1] ? value : OF(own)[m][1];
                OF(own)[m][2] += w;
                OF(own)[m][3] += weighted;
                OF(own)[m][4] = fma(weighted, distance, OF(own)[m][4]);
                OF(own)[m][5] = fma(d, value, OF(own)[m][5]);
                OF(own)[m][6] += value - value;
            }
        }
    }
    for (int m = 0; m < VECTORS && k0 + m < n_vectors; ++m) {
        EACH_THREAD {
            UNROLL for (int which = 0; which < VECTORS; ++which)
                if (which == m)
                    UNROLL for (int i = 0; i < N_SUMS; ++i) sums[i][thread] = OF(own)[which][i];
        }
        SYNC;
        for (int half = SUMMERS / 2; half > 0; half /= 2) {
            EACH_THREAD {
                if (thread < half) {
                    double lowest = sums[0][thread + half], highest = sums[1][thread + half];
                    if (lowest < sums[0][thread]) sums[0][thread] = lowest;
                    if (highest > sums[1][thread]) sums[1][thread] = highest;
                    UNROLL for (int i = 2; i < N_SUMS; ++i) sums[i][thread] += sums[i][thread + half];
                }
            }
            SYNC;
        }
        EACH_THREAD {
            if (thread == 0) {
                double *out = parts + ((k0 + m) * n_tiles + BLOCK_X) * 6, total = sums[2][0], poison = sums[6][0];
                double mean = total > 0 ? sums[3][0] / total : 0, squares = sums[4][0] - sums[3][0] * mean;
                out[0] = sums[0][0] + poison;
                out[1] = sums[1][0] + poison;
                out[2] = total;
                out[3] = middle[m] + mean + poison;
                out[4] = squares < 0 ? 0 : squares;
                out[5] = sums[5][0] + poison;
            }
        }
        SYNC;
    }
}

/* Put panels together in their order (Chan, Golub and LeVeque): low, high, mean, spread, projection of each vector. */
KERNEL(SUMMERS) merge_summaries(const double *parts, whole n_panels, whole n, double *out)
{
    EACH_THREAD {
        whole k = BLOCK_X * SUMMERS + thread;
        if (k < n) {
            double low = INFINITE, high = -INFINITE, total = 0, mean = 0, squares = 0, projection = 0;
            for (whole panel = 0; panel < n_panels; ++panel) {
                const double *own = parts + (k * n_panels + panel) * 6;
                low = own[0] < low || own[0] != own[0] ? own[0] : low;
                high = own[1] > high || own[1] != own[1] ? own[1] : high;
                projection += own[5];
                if (own[2] > 0) {
                    double sum = total + own[2], difference = own[3] - mean;
                    mean += difference * (own[2] / sum);
                    squares += own[4] + difference * difference * (total / sum) * own[2];
                    total = sum;
                }
            }
            out[5 * k] = low;
            out[5 * k + 1] = high;
            out[5 * k + 2] = mean;
            out[5 * k + 3] = sqrt(squares / total);
            out[5 * k + 4] = projection;
        }
    }
}
