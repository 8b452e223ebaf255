// Attention over several documents in a row: where each query's document begins and ends. Given
// besides attention.cuh: Offset, the type of the offsets.

// For every query the document's first key and the end of it, of offsets in any order.
extern "C" __global__ void NAME_bounds(const Words w) {
  const int queries = number(w, queries_at);
  const Parted p = part(item(), queries);
  if (p.quotient >= (w.v[bounds_step_at] ? number(w, batches_at) : 1)) return;
  const int64_t count = (int64_t)w.v[offsets_count_at];
  const Offset* offsets =
      at<const Offset>(w.v[offsets_at]) + p.quotient * (int64_t)w.v[offsets_step_at];
  int64_t low = 0, high = queries;
  for (int64_t n = 0; n < count; ++n) {
    const int64_t o = offsets[n];
    if (o <= p.rest && o > low) low = o;
    if (o > p.rest && o < high) high = o;
  }
  at<int>(w.v[low_at])[item()] = (int)low;
  at<int>(w.v[high_at])[item()] = (int)high;
}
