// The header from C++.
#include "types.h"

#include <cstdio>
#include <memory>
#include <vector>

int main()
{
    std::unique_ptr<futhark_context_config, void (*)(futhark_context_config *)> cfg(futhark_context_config_new(),
                                                                                   futhark_context_config_free);
    std::unique_ptr<futhark_context, void (*)(futhark_context *)> ctx(futhark_context_new(cfg.get()), futhark_context_free);
    std::vector<float> in = {1, 2, 3}, out(3);
    futhark_f32_1d *xs = futhark_new_f32_1d(ctx.get(), in.data(), 3), *ys = nullptr;
    bool ok = futhark_entry_scale(ctx.get(), &ys, 2, xs) == FUTHARK_SUCCESS &&
              futhark_values_f32_1d(ctx.get(), ys, out.data()) == FUTHARK_SUCCESS && out[2] == 6;
    futhark_free_f32_1d(ctx.get(), xs);
    futhark_free_f32_1d(ctx.get(), ys);
    std::printf("%d passed, %d failed\n", ok, !ok);
    return !ok;
}
