/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Sizes and repetitions of collperf, as asked for. A row of the option table is bound to each
 * member (Option::As) and describes it. Without a default in every program a member is optional:
 * nothing is "not given", until a rule decides.
 */
#ifndef SCENARIOS_ASKED_COLLPERF_H
#define SCENARIOS_ASKED_COLLPERF_H

#include "contrib/rdma/core/units.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace scenario::asked
{

struct Collperf
{
    std::string op;
    std::string reduction;
    std::optional<rdma::Bytes> minbytes;
    std::optional<rdma::Bytes> maxbytes;
    std::optional<double> stepfactor;
    std::optional<rdma::Bytes> stepbytes;
    uint32_t iters = 0;
    uint32_t warmupIters = 0;
    uint32_t check = 0;
    std::optional<uint32_t> ngpus;
    std::optional<uint32_t> nthreads;
    std::string datatype;
    uint32_t average = 0;
    std::optional<std::vector<std::string>> compare;
    std::optional<std::string> reference;
    std::optional<uint32_t> root;
    std::optional<std::string> blockSizes;
};

} // namespace scenario::asked

#endif // SCENARIOS_ASKED_COLLPERF_H
