/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What counts of the texts of PyTorch's profiler: kernels, calls of the runtime, waits, steps,
 * process groups. What they mean: kineto.h.
 */
#ifndef SCENARIOS_FORMATS_KINETO_KINETO_EVENTS_H
#define SCENARIOS_FORMATS_KINETO_KINETO_EVENTS_H

#include "topologies/error.h"

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace formats
{

/// An event of a trace that counts. Times in us.
struct KinetoEntry
{
    enum class What : uint8_t
    {
        kKernel, ///< or a copy
        kCall,   ///< a call of the runtime
        kSync,   ///< cuda_sync
    };

    What what = What::kKernel;
    std::string name;
    double begin = 0;
    double end = 0;
    int64_t stream = -1;
    int64_t correlation = -1;
    int64_t waitStream = -1; ///< kSync
    int64_t recorded = -1;   ///< kSync: correlation of the event's record
    nlohmann::json args;     ///< arguments of NCCL's kernels
};

/// One step: of its launches.
struct KinetoWindow
{
    double begin = 0;
    double end = 0;
};

struct KinetoTrace
{
    std::string file;
    int64_t rank = -1; ///< -1: it does not say
    int64_t world = -1;
    std::vector<KinetoEntry> entries;
    std::map<int64_t, KinetoWindow> steps;
};

/// All that a run has.
struct KinetoRun
{
    std::vector<KinetoTrace> traces;
    std::map<std::string, std::vector<uint64_t>> groups; ///< ranks by name; empty: all ranks
    std::set<std::string> twoGroups;                     ///< names that mean two
    bool exact = false;                                  ///< waits of streams stand in the traces
    /// By rank in the traces: its rank in the simulation, or kNotSimulated. As many as the profiled
    /// run had.
    std::vector<uint32_t> rankOf;
    bool replicates = false; ///< all ranks will do the work of one (kineto-replicas.h)
};

constexpr uint32_t kNotSimulated = UINT32_MAX;

/// A whole number, or the text of one.
std::optional<int64_t> WholeIn(const nlohmann::json& object, const char* key);
/// A list of whole numbers, or the text of one. Nothing if it is no list, or was cut short ("...").
std::optional<std::vector<uint64_t>> ListIn(const nlohmann::json& object, const char* key);
/// A text, or a number as text; empty if there is none.
std::string TextIn(const nlohmann::json& object, const char* key);
/// Has the text such a part?
bool Contains(const std::string& text, const char* part);

/// The place of an event, for errors: "ts 17.250".
std::string KinetoPlace(double us);

/// Adds a trace, or the groups of an execution trace. False, and an error, if it is neither, or not
/// in order. \param file for errors
bool AddKinetoText(const std::string& text,
                   const std::string& file,
                   KinetoRun* run,
                   std::vector<topo::Error>& errors);

} // namespace formats

#endif // SCENARIOS_FORMATS_KINETO_KINETO_EVENTS_H
