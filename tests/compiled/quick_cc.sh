# Runs a compiler with the first argument behind all others, where it wins over those of its kind:
# sh quick_cc.sh -O1 gcc -O3 x.c  ->  gcc -O3 x.c -O1
level=$1
shift
exec "$@" "$level"
