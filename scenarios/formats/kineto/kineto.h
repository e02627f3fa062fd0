/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Traces of PyTorch's profiler (Kineto), one file a rank, and beside them its execution traces,
 * which give the process groups. The work of a rank on its GPU, in the order of its launches:
 *
 *   kernels, copies    as long as they took; those of the stream with most of them compute, other
 *                      streams run beside it, each by itself
 *   NCCL's kernels     collectives and messages, simulated: their time is not used. What they are
 *                      stands in their args: "Collective name", "In msg nelems", "Out msg nelems",
 *                      "dtype", "Process Group Ranks" (cut short above 30 ranks), "Process Group
 *                      Name", "In split size", "Src Rank", "Dst Rank"
 *   the program        one thread of the host: from launch to launch it takes what it took, without
 *                      what it waited in cuda...Synchronize, which waits for the same here
 *
 * A kernel waits for the one before on its stream and for its launch. Waits between streams are
 * those of `cuda_sync` events, if there are any (enable_cuda_sync_events). Otherwise a kernel of
 * NCCL waits for everything launched so far on the computing stream (as ProcessGroupNCCL makes it).
 * A kernel after a cudaStreamWaitEvent waits for the last collective of each stream that had ended
 * when the kernel began (assumed).
 *
 * The step is the last ProfilerStep#N that all ranks have, by launches; without one, the whole
 * trace.
 *
 * Some ranks can run without the others (KinetoRanks): what they do with others takes its recorded
 * time. And one rank's work can be that of all ranks (kineto-replicas.h).
 *
 * Names are those of pytorch/kineto, libkineto/src/output_json.cpp, and of PyTorch's
 * torch/csrc/profiler/util.cpp and execution_trace_observer.cpp.
 */
#ifndef SCENARIOS_FORMATS_KINETO_KINETO_H
#define SCENARIOS_FORMATS_KINETO_KINETO_H

#include "scenarios/formats/recording.h"

#include <optional>
#include <string>
#include <vector>

namespace formats
{

/// Whether a text begins as a trace of Kineto, or as an execution trace.
bool IsKineto(const std::string& text);
bool IsExecutionTrace(const std::string& text);

/// The files of one run, .json or .json.gz: those of a folder, or the one that is named. Empty: the
/// first of them is no trace of Kineto.
std::vector<std::string> FindKinetoFiles(const std::string& path);

/// The ranks of the traces that run.
struct KinetoRanks
{
    std::vector<uint32_t> ranks; ///< by number, ascending; empty: all
    uint32_t replicate = 0;      ///< ranks that all do the work of one; 0: each does its own
};

/// Reads the traces. Nothing, and an error, if a file is damaged, a rank is missing, or needed data
/// are missing.
std::optional<Recording> ReadKineto(const std::vector<std::string>& files,
                                    const KinetoRanks& ranks,
                                    std::vector<topo::Error>& errors);

/// The same of texts. \param files their names, for errors
std::optional<Recording> RecordingOfKineto(const std::vector<std::string>& texts,
                                           const std::vector<std::string>& files,
                                           const KinetoRanks& ranks,
                                           std::vector<topo::Error>& errors);

} // namespace formats

#endif // SCENARIOS_FORMATS_KINETO_KINETO_H
