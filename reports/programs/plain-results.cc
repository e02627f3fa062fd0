/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What dlserve says of a plain network.
 */
#include "reports/base/answer-text.h"
#include "reports/base/human-text.h"
#include "reports/programs/serving-results.h"
#include "topologies/names.h"

#include <ostream>

namespace reports
{

namespace
{

using serving::PlainPass;

const Object<PlainPass::Cuts> CUTS{
    {"count (count): In a pass of an instance", [](const auto& c) { return c.count; }},
    {"bytes (B): Sum of their buffers", [](const auto& c) { return c.bytes; }},
    {"dense_bytes (B): The same without --send-share", [](const auto& c) { return c.denseBytes; }}};

template <PlainPass::Cuts PlainPass::*cuts>
const PlainPass::Cuts&
CutsOf(const ServingResults& r)
{
    return (*r.about.plain).*cuts;
}

/// "3 all-reduces of 12 MB".
std::string
CutsText(const PlainPass::Cuts& cuts, const std::string& what)
{
    return topo::Counted(cuts.count, what) + " of " + HumanBytes(static_cast<double>(cuts.bytes)) +
           (cuts.count > 1 ? " together" : "");
}

} // namespace

const Object<ServingResults>&
PassesKeys()
{
    static const Object<ServingResults> keys{
        {"batch (count): Samples of a pass", [](const auto& r) { return r.about.plain->batch; }},
        {"layers (count): Of the model", [](const auto& r) { return r.about.plain->layers; }},
        {"kernels_us (us): Of all stages, one GPU each",
         [](const auto& r) { return 1e6 * r.about.plain->seconds; }},
        {"all_reduces: Of tensor groups", CutsOf<&PlainPass::reduces>, CUTS},
        {"all_gathers: Of tensor groups", CutsOf<&PlainPass::gathers>, CUTS},
        {"sends: Activations between pipeline stages", CutsOf<&PlainPass::sends>, CUTS}};
    return keys;
}

void
PrintPasses(std::ostream& os, const ServingResults& r)
{
    const PlainPass& pass = *r.about.plain;
    const ServingStatistics& s = r.statistics;
    Say(os,
        "Passes",
        HumanCount(s.answered) + " of " + HumanCount(s.requests) + " with " +
            topo::Counted(pass.batch, "sample") + " each in " + HumanTime(1e6 * s.duration) +
            (s.measured < s.requests
                 ? "; the first " + HumanCount(s.requests - s.measured) + " are warm-up"
                 : ""));
    os << "\n";
    std::vector<std::vector<std::string>> rows = {{"mean", "p50", "p99", "max", ""}};
    const auto add = [&](const Quantiles& q, const char* what) {
        if (q.values > 0)
        {
            rows.push_back({HumanTime(1e3 * q.mean),
                            HumanTime(1e3 * q.p50),
                            HumanTime(1e3 * q.p99),
                            HumanTime(1e3 * q.max),
                            what});
        }
    };
    add(s.e2eMs, "a pass, from its arrival to its result");
    if (s.queueMs.max > 0)
    {
        add(s.queueMs, "of this in the queue");
    }
    if (rows.size() > 1)
    {
        PrintColumns(os, rows);
    }
    os << "\n";
    Say(os,
        "Throughput",
        Three(s.requestsPerS) + " passes/s, " + Three(s.requestsPerS * pass.batch) + " samples/s");
    Say(os, "Kernels", HumanTime(1e6 * pass.seconds) + " a pass, of all stages");
    std::string sent;
    for (const auto& [cuts, what] : {std::pair(&pass.reduces, "all-reduce"),
                                     std::pair(&pass.gathers, "all-gather"),
                                     std::pair(&pass.sends, "pipeline send")})
    {
        sent += cuts->count > 0 ? (sent.empty() ? "" : ", ") + CutsText(*cuts, what) : "";
    }
    Say(os, "Sent a pass", sent.empty() ? "nothing: one GPU has the model" : sent);
    if (pass.Bytes() != pass.DenseBytes())
    {
        const auto dense = static_cast<double>(pass.DenseBytes());
        Say(os,
            "Sparse",
            HumanBytes(static_cast<double>(pass.Bytes())) + " instead of " + HumanBytes(dense) +
                " a pass, " + ShareInWords(static_cast<double>(pass.Bytes()) / dense));
    }
    if (r.outcome.networkBytes > 0)
    {
        const auto bytes = static_cast<double>(r.outcome.networkBytes);
        Say(os, "Network", HumanBytes(bytes) + " between servers, of all passes");
    }
}

} // namespace reports
