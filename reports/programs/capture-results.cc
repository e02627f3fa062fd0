/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "reports/programs/capture-results.h"

#include "contrib/rdma/core/shown-text.h"
#include "reports/base/human-text.h"
#include "reports/base/old-results.h"
#include "reports/base/output-errors.h"
#include "reports/base/report-launcher.h"
#include "reports/base/run-outcome.h"
#include "reports/stats/stats-file.h"

#include <algorithm>
#include <iostream>
#include <string>

namespace reports
{

namespace
{

constexpr std::size_t MOST_RANKS = 8; // ranks of a mistake, in a line

std::string
RanksText(const formats::Mistake& mistake)
{
    std::string text = mistake.ranks.size() == 1 ? "rank " : "ranks ";
    for (std::size_t i = 0; i < std::min(mistake.ranks.size(), MOST_RANKS); ++i)
    {
        text += (i > 0 ? ", " : "") + std::to_string(mistake.ranks[i]);
    }
    return text + (mistake.ranks.size() > MOST_RANKS
                       ? " and " + std::to_string(mistake.ranks.size() - MOST_RANKS) + " more"
                       : "");
}

} // namespace

const Object<formats::Findings>&
CaptureKeys()
{
    using formats::Findings;
    using formats::Mistake;
    static const Object<Findings> peak{
        {"rank: The GPU's rank", &Findings::memoryRank},
        {"allocated_bytes (B): Most that tensors held at once", &Findings::allocatedBytes},
        {"reserved_bytes (B): Most that PyTorch's caching allocator held",
         &Findings::reservedBytes}};
    static const Object<Mistake> mistake{{"kind: mismatch, order, missing, unmatched, world-size, "
                                          "out-of-memory, died, unused-parameters, shapes",
                                          &Mistake::kind},
                                         {"ranks: Ranks that it concerns", &Mistake::ranks},
                                         {"lines: Lines of the script", &Mistake::lines},
                                         {"text: The mistake in words", &Mistake::text}};
    static const Object<Findings> keys{
        Key<Findings>(
            "gpu_memory_peak: Capture: memory of the GPU that needed most",
            [](const Findings& f) -> const Findings& { return f; },
            peak)
            .Only([](const Findings& f) { return f.reservedBytes > 0; }),
        {"mistakes: Capture: errors of the script; empty if none", &Findings::mistakes, mistake}};
    return keys;
}

namespace
{

const RegisteredKeys g_capture(Section::kTrace, CaptureKeys());

} // namespace

void
PrintCapture(std::ostream& os, const formats::Findings& findings)
{
    constexpr double GIB = 1 << 30;
    if (findings.reservedBytes > 0)
    {
        os << Format("GPU memory             %.2f GiB reserved, %.2f GiB allocated at most",
                     static_cast<double>(findings.reservedBytes) / GIB,
                     static_cast<double>(findings.allocatedBytes) / GIB)
           << (findings.captured > 1 ? " (rank " + std::to_string(findings.memoryRank) + ")" : "")
           << "\n";
    }
    for (const formats::Mistake& mistake : findings.mistakes)
    {
        const std::string where = mistake.ranks.empty() ? "" : RanksText(mistake);
        os << Format("Mistake                %s", rdma::Shown(mistake.kind, 60).c_str())
           << (where.empty() ? "" : ", " + where);
        for (std::size_t i = 0; i < mistake.lines.size(); ++i)
        {
            os << (i == 0 ? ", at " : ", ") << rdma::Shown(mistake.lines[i], 200);
        }
        os << "\n                       " << rdma::Printable(Wrapped(mistake.text, 23), "\n")
           << "\n";
    }
    os << (findings.reservedBytes > 0 || !findings.mistakes.empty() ? "\n" : "");
}

int
EndWithoutSteps(const scenario::TrainingScenario& scenario, std::ostream& os)
{
    const scenario::CaptureOutcome& capture = *scenario.capture;
    const std::string why = rdma::Printable(capture.why, "\n");
    PrintCapture(os, capture.findings);
    os.flush();
    std::cerr << "dltrain: error: " << why << std::endl;
    if (scenario.run.dryRun)
    {
        return capture.status;
    }
    RemoveOldResults(scenario.run.out, scenario.run.inputs);
    RunOutcome outcome;
    outcome.exitStatus = capture.status;
    outcome.message = capture.why;
    nlohmann::ordered_json stats = BeginStats("dltrain", scenario.run, outcome);
    stats["gpus"] = capture.findings.world;
    stats["model"] = scenario.model;
    CaptureKeys().AddTo(stats, capture.findings);
    WriteStats(stats, scenario.run.out);
    WriteReport(scenario.run, os);
    NameLostFiles(stats, BeginStats("dltrain", scenario.run, outcome), scenario.run.out);
    return OutputErrors::Status("dltrain", capture.status);
}

} // namespace reports
