/* The primitives as plain loops, one nest each, as anybody writes them in C: what loops.py measures
 * programs against. Sizes come first, then inputs, then results. One thread, but for the sparse
 * product, whose two have equal shares. */
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>

void copied(int64_t n, const float *restrict xs, float *restrict out)
{
    memcpy(out, xs, n * sizeof *out);
}

void incremented(int64_t n, const float *restrict xs, float *restrict out)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = xs[i] + 1;
}

void softened(int64_t n, const float *restrict xs, float *restrict out)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = logf(1 + expf(xs[i]));
}

void waves(int64_t n, const float *restrict xs, float *restrict out)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = (float)(exp(sin(xs[i])) + cos(xs[i]));
}

void chains(int64_t n, int64_t steps, const float *restrict xs, float *restrict out)
{
    for (int64_t i = 0; i < n; i++) {
        float x[8], sum = 0;
        for (int c = 0; c < 8; c++)
            x[c] = xs[i] + c;
        for (int64_t t = 0; t < 4 * steps; t++)
            for (int c = 0; c < 8; c++)
                x[c] = fmaf(x[c], 0.9375f, 1);
        for (int c = 0; c < 8; c++)
            sum += x[c];
        out[i] = sum;
    }
}

void sum(int64_t n, const float *restrict xs, float *restrict out)
{
    float sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += xs[i];
    *out = sum;
}

void scan(int64_t n, const float *restrict xs, float *restrict out)
{
    float sum = 0;
    for (int64_t i = 0; i < n; i++)
        out[i] = sum += xs[i];
}

int64_t filter(int64_t n, const float *restrict xs, float *restrict out)
{
    int64_t k = 0;
    for (int64_t i = 0; i < n; i++)
        if (xs[i] > 0)
            out[k++] = xs[i];
    return k;
}

void row_sums(int64_t n, int64_t m, const float *restrict xs, float *restrict out)
{
    for (int64_t i = 0; i < n; i++) {
        float sum = 0;
        for (int64_t j = 0; j < m; j++)
            sum += xs[i * m + j];
        out[i] = sum;
    }
}

void row_scans(int64_t n, int64_t m, const float *restrict xs, float *restrict out)
{
    for (int64_t i = 0; i < n; i++) {
        float sum = 0;
        for (int64_t j = 0; j < m; j++)
            out[i * m + j] = sum += xs[i * m + j];
    }
}

void transposed(int64_t n, int64_t m, const float *restrict xs, float *restrict out)
{
    for (int64_t j = 0; j < m; j++)
        for (int64_t i = 0; i < n; i++)
            out[j * n + i] = xs[i * m + j];
}

void histogram(int64_t n, int64_t k, const int32_t *restrict keys, int32_t *restrict out)
{
    memset(out, 0, k * sizeof *out);
    for (int64_t i = 0; i < n; i++)
        if (keys[i] >= 0 && keys[i] < k)
            out[keys[i]]++;
}

/* In the order in which the rows of ys are read one after the other. */
void product(int64_t n, int64_t m, int64_t p, const float *restrict xs, const float *restrict ys,
             float *restrict out)
{
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < p; j++)
            out[i * p + j] = 0;
        for (int64_t k = 0; k < m; k++)
            for (int64_t j = 0; j < p; j++)
                out[i * p + j] += xs[i * m + k] * ys[k * p + j];
    }
}

void batched(int64_t b, int64_t n, int64_t m, int64_t p, const float *restrict xs,
             const float *restrict ys, float *restrict out)
{
    for (int64_t l = 0; l < b; l++)
        product(n, m, p, xs + l * n * m, ys + l * m * p, out + l * n * p);
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

void line(int64_t n, const float *restrict xs, float *restrict out)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = 0.25f * xs[most(0, i - 1)] + 0.5f * xs[i] + 0.25f * xs[least(n - 1, i + 1)];
}

void plane(int64_t n, int64_t m, const float *restrict xs, float *restrict out)
{
    for (int64_t i = 0; i < n; i++) {
        const float *here = xs + i * m, *above = xs + most(0, i - 1) * m,
                    *below = xs + least(n - 1, i + 1) * m;
        for (int64_t j = 0; j < m; j++)
            out[i * m + j] = 0.5f * here[j] + 0.125f * (above[j] + below[j] + here[most(0, j - 1)] +
                                                        here[least(m - 1, j + 1)]);
    }
}

void bodies(int64_t n, const float *restrict xs, const float *restrict ys, const float *restrict zs,
            const float *restrict masses, float *restrict ax, float *restrict ay,
            float *restrict az)
{
    for (int64_t i = 0; i < n; i++) {
        float x = 0, y = 0, z = 0;
        for (int64_t j = 0; j < n; j++) {
            float dx = xs[j] - xs[i], dy = ys[j] - ys[i], dz = zs[j] - zs[i];
            float r = 1 / sqrtf(dx * dx + dy * dy + dz * dz + 0.01f), s = masses[j] * (r * r * r);
            x += s * dx;
            y += s * dy;
            z += s * dz;
        }
        ax[i] = x;
        ay[i] = y;
        az[i] = z;
    }
}

/* A part of the elements of a sparse matrix times a vector: start .. end - 1, the rows that end
 * there, and what there is of the row after them. */
struct share {
    int64_t n, start, end;
    const int64_t *ends;
    const int32_t *columns;
    const float *values, *x;
    float *out;
    int64_t row; /* that begins here and ends in the next share */
    float begun; /* the sum of its elements that are here */
};

static int64_t first_that_ends_behind(int64_t n, const int64_t *ends, int64_t at)
{
    int64_t low = 0, high = n;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (ends[middle] > at)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static void *share_product(void *of)
{
    struct share *s = of;
    const int64_t *restrict ends = s->ends;
    const int32_t *restrict columns = s->columns;
    const float *restrict values = s->values, *restrict x = s->x;
    float *restrict out = s->out;
    int64_t at = s->start, row = at ? first_that_ends_behind(s->n, ends, at) : 0;
    for (;; row++) {
        int64_t end = row < s->n ? least(ends[row], s->end) : s->end;
        float sum = 0;
        for (; at < end; at++)
            sum += values[at] * x[columns[at]];
        if (row == s->n || ends[row] > s->end) {
            s->row = row;
            s->begun = sum;
            return NULL;
        }
        out[row] = sum;
    }
}

void sparse_product(int64_t n, const int64_t *offsets, const int32_t *columns, const float *values,
                    const float *x, float *out)
{
    int64_t middle = offsets[n] / 2;
    struct share shares[] = {
        {n, 0, middle, offsets + 1, columns, values, x, out, 0, 0},
        {n, middle, offsets[n], offsets + 1, columns, values, x, out, 0, 0},
    };
    pthread_t other;
    pthread_create(&other, NULL, share_product, &shares[1]);
    share_product(&shares[0]);
    pthread_join(other, NULL);
    if (shares[0].row < n)
        out[shares[0].row] += shares[0].begun;
}
