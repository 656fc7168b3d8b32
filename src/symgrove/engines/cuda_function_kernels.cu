/* A function of N_SETS numbers, on every row of as many sets of vectors: FUNCTION(x, numbers) of values and constants. */

/* Vectors of one set after those of another; a vector of the results is of one of each. */
DEVICE double function_at(const Places *v, whole n_vectors, whole k, whole row, const double *numbers)
{
    double x[N_SETS];
    UNROLL for (int set = 0; set < N_SETS; ++set) x[set] = number_of(v, set * n_vectors + k, row);
    return FUNCTION(x, numbers);
}

KERNEL(SUMMERS) apply_function(const whole *address, const unsigned char *is_double, const double *centre,
                               const double *scale, const double *numbers, whole n_vectors, whole n_rows, double *out,
                               whole stride)
{
    Places v = {address, is_double, centre, scale};
    EACH_THREAD {
        whole row = BLOCK_X * SUMMERS + thread;
        if (row < n_rows) out[BLOCK_Y * stride + row] = function_at(&v, n_vectors, BLOCK_Y, row, numbers);
    }
}

/* Sums over the rows of a tile, to parts (tile, n_vectors); weights follow the sets, and rows of weight zero do not enter. */
KERNEL(SUMMERS) sum_function(const whole *address, const unsigned char *is_double, const double *centre,
                             const double *scale, const double *numbers, whole is_weighted, whole n_vectors,
                             whole n_rows, whole tile_rows, double *parts)
{
    SHARED(double, sums, [SUMMERS]);
    Places v = {address, is_double, centre, scale};
    whole low = BLOCK_Y * tile_rows, high = low + tile_rows < n_rows ? low + tile_rows : n_rows;
    EACH_THREAD {
        double total = 0;
        for (whole row = low + thread; row < high; row += SUMMERS) {
            double w = is_weighted ? number_of(&v, N_SETS * n_vectors + BLOCK_X, row) : 1;
            if (w != 0) total += function_at(&v, n_vectors, BLOCK_X, row, numbers) * w;
        }
        sums[thread] = total;
    }
    SYNC;
    for (int half = SUMMERS / 2; half > 0; half /= 2) {
        EACH_THREAD { if (thread < half) sums[thread] += sums[thread + half]; }
        SYNC;
    }
    EACH_THREAD { if (thread == 0) parts[BLOCK_Y * n_vectors + BLOCK_X] = sums[0]; }
}
