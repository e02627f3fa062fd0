/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What a capture (docs/capture-format.md) says of the script itself: its meta.json, without what
 * its ranks did.
 */
#ifndef SCENARIOS_FORMATS_CAPTURE_CAPTURE_FINDINGS_H
#define SCENARIOS_FORMATS_CAPTURE_CAPTURE_FINDINGS_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace formats
{

/// A mistake in a script.
struct Mistake
{
    std::string kind; ///< "mismatch", "missing", ...
    std::vector<uint64_t> ranks;
    std::vector<std::string> lines; ///< "train.py:31"
    std::string text;
};

struct Findings
{
    std::string folder;
    uint64_t world = 0;     ///< ranks
    uint64_t captured = 0;  ///< ranks that were captured
    uint64_t steps = 0;     ///< steps that were captured whole
    std::string endedBy;    ///< what ends a step
    int64_t exitStatus = 0; ///< exit status of the script; below 0: killed by a signal
    /// The captured rank whose allocator had most, and the amounts: PyTorch's max_memory_allocated
    /// and max_memory_reserved.
    uint64_t memoryRank = 0;
    uint64_t allocatedBytes = 0;
    uint64_t reservedBytes = 0; ///< 0: not known
    std::vector<Mistake> mistakes;
};

/// Reads the findings of the capture in a folder; nothing if there is no capture. Damaged parts are
/// left out: the reader of the capture itself reports them.
std::optional<Findings> ReadFindings(const std::string& folder);

/// Why no step of the capture can be simulated, in a sentence: the script failed, or its ranks do
/// not fit together and wait for each other for ever. Nothing if a step can be simulated.
std::string WhyNotSimulated(const Findings& findings);

} // namespace formats

#endif // SCENARIOS_FORMATS_CAPTURE_CAPTURE_FINDINGS_H
