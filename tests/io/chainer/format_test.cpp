// The format: reading, graphs, writing, the page.
#include <gtest/gtest.h>

#include "io/chainer/format.h"
