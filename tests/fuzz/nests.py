"""Programs of gen_nests.py: in every version, natively and with the code of GPUs, and most often with all kernels that makers choose."""
import re

import check
from gen_nests import Nests

NATIVE = [k for k, (_, env) in enumerate(check.SHAPES) if "MINIFUT_DRIVER" not in env]
GPU = [k for k, (_, env) in enumerate(check.SHAPES) if "MINIFUT_CODE" in env]


class Checker(check.Checker):
    def __init__(self, *args):
        super().__init__(*args)
        self.env["POCL_EXTRA_BUILD_FLAGS"] = "-cl-opt-disable"  # most of the time is PoCL's else

    def program(self, seed):
        return Nests(seed, self.n_ranks).program()

    def choices(self, binary, rnd):
        names = re.findall(r"^(\S+) \(choice\(", self.run([binary, "--print-params"])[1], re.M)
        some = rnd.choice([None, [1], [1], [1, check.NEVER]])
        return [f"--param={name}={rnd.choice(some)}" for name in names] if some else []

    def natively(self, mode, rnd):
        self.shapes = NATIVE
        yield from self.versions(mode, rnd, ["pocl"], 24)

    def for_gpus(self, mode, rnd):
        self.shapes = GPU
        yield from self.versions(mode, rnd, ["pocl"], 6)
