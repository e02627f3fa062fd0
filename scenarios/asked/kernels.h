/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Kernels of dlserve's iterations, as asked for. A row of the option table is bound to each member
 * (Option::As) and describes it.
 */
#ifndef SCENARIOS_ASKED_KERNELS_H
#define SCENARIOS_ASKED_KERNELS_H

#include <optional>
#include <string>

namespace scenario::asked
{

struct Kernels
{
    std::string quantization;
    std::string allReduce;
    std::string expertExchange;
    std::string peerAccess;
    std::optional<std::string> kernelTimes;
};

} // namespace scenario::asked

#endif // SCENARIOS_ASKED_KERNELS_H
