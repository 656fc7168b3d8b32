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

/* A vector of an index; its kind is the size of a number, or 0 where the index is negative. */
typedef struct { whole address; double centre, scale; whole kind; } Vector;

DEVICE Vector vector_of(const Places *v, const whole *index, whole i, whole n)
{
    Vector found = {0, 0, 0, 0};
    whole k = i < n ? index[i] : -1;
    if (k >= 0) {
        found.address = v->address[k];
        found.centre = v->centre[k];
        found.scale = v->scale[k];
        found.kind = v->is_double[k] ? 8 : 4;
    }
    return found;
}

DEVICE double value_of(const Vector *v, whole row)
{
    if (v->kind == 0) return 0;
    double x = v->kind == 8 ? ((const double *)v->address)[row] : (double)((const float *)v->address)[row];
    return (x - v->centre) * v->scale;
}

/* Products of FEW or MANY vectors with RIGHT others on rows of a chunk, summed, to parts (chunk, product, n_left,
n_right). A warp reads 32 rows of a vector at a time. */
#define RIGHT 64
#define MULTIPLIERS 128
#define STEP_ROWS 32
#define FEW 4
#define MANY 32
#define PRODUCTS                                                                                                       \
    const whole *l_address, const unsigned char *l_is_double, const double *l_centre, const double *l_scale,           \
        const whole *r_address, const unsigned char *r_is_double, const double *r_centre, const double *r_scale,       \
        const whole *w_address, const unsigned char *w_is_double, const double *w_centre, const double *w_scale,       \
        const whole *left_index, const whole *right_index, whole is_weighted, whole is_squared, whole is_symmetric,    \
        whole n_products, whole n_left, whole n_right, whole chunk_rows, whole n_rows, double *parts
#define TILE_OF_PRODUCTS(N_LEFT)                                                                                       \
    Places left = {l_address, l_is_double, l_centre, l_scale}, right = {r_address, r_is_double, r_centre, r_scale};    \
    Places weights = {w_address, w_is_double, w_centre, w_scale};                                                      \
    whole n_right_tiles = (n_right + RIGHT - 1) / RIGHT, n_left_tiles = (n_left + N_LEFT - 1) / N_LEFT;                \
    whole product = BLOCK_X / (n_left_tiles * n_right_tiles);                                                          \
    whole first_left = BLOCK_X / n_right_tiles % n_left_tiles * N_LEFT;                                                \
    whole first_right = BLOCK_X % n_right_tiles * RIGHT;                                                               \
    whole low = BLOCK_Y * chunk_rows, high = low + chunk_rows < n_rows ? low + chunk_rows : n_rows;                    \
    double *own_parts = parts + (BLOCK_Y * n_products + product) * n_left * n_right;                                   \
    if (is_symmetric && first_right + RIGHT <= first_left) return /* the host knows these from above the diagonal */

#define FIND_VECTORS(N_LEFT)                                                                                           \
    if (thread < N_LEFT)                                                                                               \
        vectors[thread] = vector_of(&left, left_index + product * n_left, first_left + thread, n_left);                \
    else if (thread < N_LEFT + RIGHT)                                                                                  \
        vectors[thread] =                                                                                              \
            vector_of(&right, right_index + product * n_right, first_right + thread - N_LEFT, n_right);

/* Weights enter on the left. */
#define READ_ROWS(N_LEFT)                                                                                              \
    whole i = thread % 32, row = stage + i;                                                                            \
    double w = is_weighted && row < high ? number_of(&weights, product, row) : 1;                                      \
    UNROLL_8 for (int v = thread / 32; v < N_LEFT + RIGHT; v += MULTIPLIERS / 32)                                   \
    {                                                                                                                  \
        double value = row < high ? value_of(&vectors[v], row) : 0;                                                    \
        if (v < N_LEFT) x[v][i] = value * w;                                                                           \
        else y[v - N_LEFT][i] = is_squared ? value * value : value;                                                    \
    }

KERNEL(MULTIPLIERS) multiply_few(PRODUCTS)
{
    SHARED(Vector, vectors, [FEW + RIGHT]);
    SHARED(double, x, [FEW][STEP_ROWS + 1]);
    SHARED(double, y, [RIGHT][STEP_ROWS + 1]);
    SHARED(double, other_half, [FEW][RIGHT]);
    OWN(double, sums, [FEW]);
    TILE_OF_PRODUCTS(FEW);
    EACH_THREAD {
        FIND_VECTORS(FEW)
        for (int a = 0; a < FEW; ++a) OF(sums)[a] = 0;
    }
    SYNC;
    for (whole stage = low; stage < high; stage += STEP_ROWS) {
        EACH_THREAD { READ_ROWS(FEW) }
        SYNC;
        EACH_THREAD {
            int b = thread % RIGHT, first = thread / RIGHT * (STEP_ROWS / 2);
            UNROLL for (int k = 0; k < STEP_ROWS / 2; ++k) {
                double other = y[b][first + k];
                UNROLL for (int a = 0; a < FEW; ++a) OF(sums)[a] = fma(x[a][first + k], other, OF(sums)[a]);
            }
        }
        SYNC;
    }
    EACH_THREAD { for (int a = 0; thread >= RIGHT && a < FEW; ++a) other_half[a][thread - RIGHT] = OF(sums)[a]; }
    SYNC;
    EACH_THREAD {
        for (int a = 0; thread < RIGHT && a < FEW; ++a)
            if (first_left + a < n_left && first_right + thread < n_right)
                own_parts[(first_left + a) * n_right + first_right + thread] = OF(sums)[a] + other_half[a][thread];
    }
}

/* A thread has 16 of the 2048 products of a tile. With matrix units, a warp has 16 x 32: 2 x 4 squares of 8 x 8. */
#ifdef HAS_MATRIX_UNITS
DEVICE int left_of(int thread, int i) { return thread / 64 * 16 + i / 8 * 8 + thread % 32 / 4; }
DEVICE int right_of(int thread, int i) { return thread / 32 % 2 * 32 + i / 2 % 4 * 8 + thread % 4 * 2 + i % 2; }
DEVICE void add_products(const double (*x)[STEP_ROWS + 4], const double (*y)[STEP_ROWS + 4], int thread, double *sums)
{
    int lane = thread % 32, a = thread / 64 * 16 + lane / 4, b = thread / 32 % 2 * 32 + lane / 4, k = lane % 4;
    UNROLL for (int step = 0; step < STEP_ROWS; step += 4) {
        double p[2] = {x[a][step + k], x[a + 8][step + k]};
        double q[4] = {y[b][step + k], y[b + 8][step + k], y[b + 16][step + k], y[b + 24][step + k]};
        UNROLL for (int i = 0; i < 2; ++i) UNROLL for (int j = 0; j < 4; ++j)
            asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
                : "+d"(sums[8 * i + 2 * j]), "+d"(sums[8 * i + 2 * j + 1])
                : "d"(p[i]), "d"(q[j]));
    }
}
#else
DEVICE int left_of(int thread, int i) { return thread / 16 * 4 + i / 4; }
DEVICE int right_of(int thread, int i) { return thread % 16 * 4 + i % 4; }
DEVICE void add_products(const double (*x)[STEP_ROWS + 4], const double (*y)[STEP_ROWS + 4], int thread, double *sums)
{
    for (int k = 0; k < STEP_ROWS; ++k)
        UNROLL for (int i = 0; i < 16; ++i) sums[i] = fma(x[left_of(thread, i)][k], y[right_of(thread, i)][k], sums[i]);
}
#endif

KERNEL(MULTIPLIERS) multiply_many(PRODUCTS)
{
    SHARED(Vector, vectors, [MANY + RIGHT]);
    SHARED(double, x, [MANY][STEP_ROWS + 4]);
    SHARED(double, y, [RIGHT][STEP_ROWS + 4]);
    OWN(double, sums, [16]);
    TILE_OF_PRODUCTS(MANY);
    EACH_THREAD {
        FIND_VECTORS(MANY)
        for (int i = 0; i < 16; ++i) OF(sums)[i] = 0;
    }
    SYNC;
    for (whole stage = low; stage < high; stage += STEP_ROWS) {
        EACH_THREAD { READ_ROWS(MANY) }
        SYNC;
        EACH_THREAD { add_products(x, y, thread, OF(sums)); }
        SYNC;
    }
    EACH_THREAD {
        UNROLL for (int i = 0; i < 16; ++i) {
            whole a = first_left + left_of(thread, i), b = first_right + right_of(thread, i);
            if (a < n_left && b < n_right) own_parts[a * n_right + b] = OF(sums)[i];
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
