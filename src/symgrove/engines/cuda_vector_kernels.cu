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

/* Products of N_LEFT vectors with 64 others on rows of a chunk, summed: a thread has 4 of either side, and its group
every N_GROUPSth row. Parts are (chunk, product, n_left, n_right). */
#define RIGHT 64
#define STEP_ROWS 16
#define MULTIPLY(name, N_LEFT, N_GROUPS)                                                                               \
    KERNEL(128)                                                                                                        \
    name(const whole *l_address, const unsigned char *l_is_double, const double *l_centre, const double *l_scale,      \
         const whole *r_address, const unsigned char *r_is_double, const double *r_centre, const double *r_scale,      \
         const whole *w_address, const unsigned char *w_is_double, const double *w_centre, const double *w_scale,      \
         const whole *left_index, const whole *right_index, whole is_weighted, whole is_squared, whole n_products,     \
         whole n_left, whole n_right, whole chunk_rows, whole n_rows, double *parts)                                   \
    {                                                                                                                  \
        SHARED(double, x, [STEP_ROWS][N_LEFT + 2]);                                                                    \
        SHARED(double, y, [STEP_ROWS][RIGHT + 2]);                                                                     \
        SHARED(double, together, [N_GROUPS > 1 ? N_GROUPS * N_LEFT : 1][RIGHT]);                                       \
        OWN(double, sums, [4][4]);                                                                                     \
        Places left = {l_address, l_is_double, l_centre, l_scale}, right = {r_address, r_is_double, r_centre, r_scale};\
        Places weights = {w_address, w_is_double, w_centre, w_scale};                                                  \
        whole n_right_tiles = (n_right + RIGHT - 1) / RIGHT, n_left_tiles = (n_left + N_LEFT - 1) / N_LEFT;            \
        whole product = BLOCK_X / (n_left_tiles * n_right_tiles);                                                      \
        whole first_left = BLOCK_X / n_right_tiles % n_left_tiles * N_LEFT;                                            \
        whole first_right = BLOCK_X % n_right_tiles * RIGHT;                                                           \
        whole low = BLOCK_Y * chunk_rows, high = low + chunk_rows < n_rows ? low + chunk_rows : n_rows;                \
        EACH_THREAD                                                                                                    \
        {                                                                                                              \
            for (int a = 0; a < 4; ++a)                                                                                \
                for (int b = 0; b < 4; ++b) OF(sums)[a][b] = 0;                                                        \
        }                                                                                                              \
        for (whole stage = low; stage < high; stage += STEP_ROWS) {                                                    \
            EACH_THREAD                                                                                                \
            {                                                                                                          \
                whole i = thread % STEP_ROWS, row = stage + i;                                                         \
                double w = is_weighted && row < high ? number_of(&weights, product, row) : 1;                          \
                for (int a = thread / STEP_ROWS; a < N_LEFT; a += 128 / STEP_ROWS) {                                   \
                    whole k = first_left + a < n_left ? left_index[product * n_left + first_left + a] : -1;            \
                    x[i][a] = k >= 0 && row < high ? number_of(&left, k, row) * w : 0;                                 \
                }                                                                                                      \
                for (int b = thread / STEP_ROWS; b < RIGHT; b += 128 / STEP_ROWS) {                                    \
                    whole k = first_right + b < n_right ? right_index[product * n_right + first_right + b] : -1;       \
                    double value = k >= 0 && row < high ? number_of(&right, k, row) : 0;                               \
                    y[i][b] = is_squared ? value * value : value;                                                      \
                }                                                                                                      \
            }                                                                                                          \
            SYNC;                                                                                                      \
            EACH_THREAD                                                                                                \
            {                                                                                                          \
                int group = thread / (N_LEFT * 4), a0 = thread / 16 % (N_LEFT / 4) * 4, b0 = thread % 16 * 4;          \
                for (int k = group; k < STEP_ROWS; k += N_GROUPS)                                                      \
                    UNROLL for (int a = 0; a < 4; ++a) UNROLL for (int b = 0; b < 4; ++b)                              \
                        OF(sums)[a][b] = fma(x[k][a0 + a], y[k][b0 + b], OF(sums)[a][b]);                              \
            }                                                                                                          \
            SYNC;                                                                                                      \
        }                                                                                                              \
        EACH_THREAD                                                                                                    \
        {                                                                                                              \
            int group = thread / (N_LEFT * 4), a0 = thread / 16 % (N_LEFT / 4) * 4, b0 = thread % 16 * 4;              \
            for (int a = 0; N_GROUPS > 1 && a < 4; ++a)                                                                \
                for (int b = 0; b < 4; ++b) together[group * N_LEFT + a0 + a][b0 + b] = OF(sums)[a][b];                \
        }                                                                                                              \
        SYNC;                                                                                                          \
        EACH_THREAD                                                                                                    \
        {                                                                                                              \
            int group = thread / (N_LEFT * 4), a0 = thread / 16 % (N_LEFT / 4) * 4, b0 = thread % 16 * 4;              \
            for (int a = 0; group == 0 && a < 4; ++a)                                                                  \
                for (int b = 0; b < 4; ++b) {                                                                          \
                    double total = OF(sums)[a][b];                                                                     \
                    for (int g = 1; g < N_GROUPS; ++g) total += together[g * N_LEFT + a0 + a][b0 + b];                 \
                    if (first_left + a0 + a < n_left && first_right + b0 + b < n_right)                                \
                        parts[((BLOCK_Y * n_products + product) * n_left + first_left + a0 + a) * n_right +            \
                              first_right + b0 + b] = total;                                                           \
                }                                                                                                      \
        }                                                                                                              \
    }
MULTIPLY(multiply_few, 4, 8)
MULTIPLY(multiply_many, 32, 1)

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

/* Of stored vectors on a panel, to parts (vector, panel, 6): lowest, highest, weight, mean, squares about it, product
with a direction. NaN is lower and higher than all numbers. */
KERNEL(SUMMERS) summarize(const whole *address, const unsigned char *is_double, const double *weight,
                          const double *direction, whole n_rows, whole n_panels, double *parts)
{
    SHARED(double, sums, [5][SUMMERS]);
    SHARED(double, mean, [1]);
    OWN(double, x, [PANEL / SUMMERS]);
    OWN(double, w, [PANEL / SUMMERS]);
    Places v = {address, is_double, 0, 0};
    EACH_THREAD {
        double low = INFINITE, high = -INFINITE, total = 0, first = 0, projection = 0;
        UNROLL for (int i = 0; i < PANEL / SUMMERS; ++i) {
            whole row = BLOCK_X * PANEL + i * SUMMERS + thread;
            OF(x)[i] = OF(w)[i] = 0;
            if (row < n_rows) {
                double value = stored(&v, BLOCK_Y, row);
                OF(x)[i] = value;
                OF(w)[i] = weight[row];
                low = value < low || value != value ? value : low;
                high = value > high || value != value ? value : high;
                total += OF(w)[i];
                first += OF(w)[i] * value;
                projection += direction[row] * value;
            }
        }
        sums[0][thread] = low;
        sums[1][thread] = high;
        sums[2][thread] = total;
        sums[3][thread] = first;
        sums[4][thread] = projection;
    }
    SYNC;
    for (int half = SUMMERS / 2; half > 0; half /= 2) {
        EACH_THREAD {
            if (thread < half) {
                double low = sums[0][thread + half], high = sums[1][thread + half];
                if (low < sums[0][thread] || low != low) sums[0][thread] = low;
                if (high > sums[1][thread] || high != high) sums[1][thread] = high;
                for (int i = 2; i < 5; ++i) sums[i][thread] += sums[i][thread + half];
            }
        }
        SYNC;
    }
    EACH_THREAD {
        double *own = parts + (BLOCK_Y * n_panels + BLOCK_X) * 6;
        if (thread == 0) {
            mean[0] = sums[2][0] > 0 ? sums[3][0] / sums[2][0] : 0;
            for (int i = 0; i < 3; ++i) own[i] = sums[i][0];
            own[3] = mean[0];
            own[5] = sums[4][0];
        }
    }
    SYNC;
    EACH_THREAD {
        double squares = 0;
        UNROLL for (int i = 0; i < PANEL / SUMMERS; ++i) {
            double distance = OF(x)[i] - mean[0];
            whole row = BLOCK_X * PANEL + i * SUMMERS + thread;
            if (row < n_rows) squares += OF(w)[i] * distance * distance;
        }
        sums[0][thread] = squares;
    }
    SYNC;
    for (int half = SUMMERS / 2; half > 0; half /= 2) {
        EACH_THREAD { if (thread < half) sums[0][thread] += sums[0][thread + half]; }
        SYNC;
    }
    EACH_THREAD { if (thread == 0) parts[(BLOCK_Y * n_panels + BLOCK_X) * 6 + 4] = sums[0][0]; }
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
