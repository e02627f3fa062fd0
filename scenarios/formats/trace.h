/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * A recorded step, of whatever format: --trace.
 */
#ifndef SCENARIOS_FORMATS_TRACE_H
#define SCENARIOS_FORMATS_TRACE_H

#include "scenarios/formats/chakra.h"
#include "scenarios/formats/recording.h"

#include <optional>
#include <string>
#include <vector>

namespace formats
{

/// What runs instead of a model.
struct TraceName
{
    std::string format; ///< Recording::format
    std::string path;
    uint32_t ranks = 0; ///< of the recording
};

/// "a file of GOAL, or a folder of ...": what ReadTrace takes, for help and errors.
std::string TraceFormats();

/// The format is found out by what is there. Nothing, and an error, if it is none of them, or not
/// in order.
std::optional<Recording> ReadTrace(const std::string& path,
                                   const KernelTime& time,
                                   std::vector<topo::Error>& errors);

} // namespace formats

#endif // SCENARIOS_FORMATS_TRACE_H
