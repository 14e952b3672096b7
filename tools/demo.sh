#!/bin/sh
# make demo: compiles examples/matmul.sf, makes data sets of the same amount of work but different shapes,
# tunes the program to them on this machine's OpenCL device and runs it.
set -e
dir=demo
minifut=./minifut
mkdir -p $dir/datasets
cp examples/matmul.sf $dir/

echo "== the program: $dir/matmul.sf"
grep -v '^--' $dir/matmul.sf
echo
echo "== the device"
$minifut devices

# n x m times m x n with n * m * n = 2^14
make_data() { # name n m
    [ -e $dir/datasets/$1.in ] || $minifut dataset -b -s 42 --f32-bounds=-1:1 -g "[$2][$3]f32" -g "[$3][$2]f32" \
        >$dir/datasets/$1.in
}
make_data 2x4096 2 4096
make_data 4x1024 4 1024
make_data 16x64 16 64
make_data 64x4 64 4
make_data 128x1 128 1

echo
echo "== its versions (minifut explain)"
$minifut explain $dir/matmul.sf | sed -n '/^    versions/,$p'
echo
echo "== tuning (minifut tune $dir/matmul.sf $dir/datasets)"
$minifut tune $dir/matmul.sf $dir/datasets
echo
echo "== running it (./$dir/matmul --tuning $dir/matmul.sf.tuning < small.in)"
printf '[[1f32, 2], [3, 4]] [[5f32, 6], [7, 8]]' >$dir/small.in
./$dir/matmul --tuning $dir/matmul.sf.tuning <$dir/small.in
