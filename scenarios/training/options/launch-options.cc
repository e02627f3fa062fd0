/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/training/options/launch-options.h"

#include "scenarios/asked/cluster.h"
#include "scenarios/asked/launch.h"
#include "scenarios/asked/modes.h"
#include "scenarios/asked/run.h"
#include "scenarios/asked/training.h"
#include "scenarios/launch/launch-capture.h"
#include "scenarios/launch/launcher.h"

#include <charconv>
#include <optional>
#include <set>

namespace scenario
{

namespace
{

// As cluster_simulator.capture.capture() has them.
constexpr uint32_t kPatienceS = 30;
constexpr const char* kRanks = "auto";

/// "auto", "all", or numbers with commas. `twice`: a number that stands there twice.
bool
AreRanks(const std::string& text, std::optional<uint32_t>* twice)
{
    std::set<uint32_t> ranks;
    if (text == "auto" || text == "all")
    {
        return true;
    }
    const char* at = text.data();
    const char* const end = at + text.size();
    while (true)
    {
        uint32_t rank = 0;
        const auto [next, bad] = std::from_chars(at, end, rank);
        if (bad != std::errc())
        {
            return false;
        }
        if (!ranks.insert(rank).second)
        {
            *twice = rank;
        }
        if (next == end)
        {
            return true;
        }
        if (*next != ',')
        {
            return false;
        }
        at = next + 1;
    }
}

} // namespace

std::vector<Option>
LaunchOptionRows()
{
    const Section section = Section{"/launch", "A script of one's own"}.Only(when::OneJob());
    const Section captures = section.Only(when::With("launch"));
    return {
        section
            .Text("launch",
                  "capture an unmodified training script on simulated GPUs and run one of its "
                  "steps: a "
                  "Python or bash script, a launcher's command line, or a shell line "
                  "(docs/capture.md)")
            .As(&asked::Launch::launch)
            .At("/launch/command")
            .Shows("COMMAND")
            .Otherwise("none")
            .Example("torchrun --nproc_per_node=8 train.py"),
        captures
            .Text("capture-ranks",
                  "which ranks of it run: auto (up to 16 all, of more a sample, which is "
                  "compared), all, "
                  "or numbers")
            .As(&asked::Launch::captureRanks)
            .At("/launch/ranks")
            .Shows("auto|all|N,...")
            .Otherwise(kRanks)
            .Example("0,1,7"),
        captures
            .Integer("capture-steps",
                     "training steps to capture, of which the last is simulated; 0: until the "
                     "script ends; "
                     "without it 3, or up to 5 until two are alike")
            .As(&asked::Launch::captureSteps)
            .At("/launch/steps")
            .Shows("N")
            .Range(0, 1e6)
            .Otherwise("3 to 5")
            .Example("2"),
        captures
            .Text("capture-step",
                  "what ends a training step: optimizer, a line (train.py:87), a function "
                  "(train_one_step) or a library call (call:torch.cuda.synchronize)")
            .As(&asked::Launch::captureStep)
            .At("/launch/step")
            .Shows("MARK")
            .Otherwise("it is found")
            .Example("train_one_step"),
        captures
            .Flag("capture-network",
                  "let it use the network (else it is in a network namespace of its own, where the "
                  "kernel allows that)")
            .As(&asked::Launch::captureNetwork)
            .At("/launch/network")
            .Otherwise("it is alone"),
        captures
            .Integer(
                "capture-patience",
                "seconds that a rank waits for another one that does not compute, before that is a "
                "mistake")
            .As(&asked::Launch::capturePatience)
            .At("/launch/patience_s")
            .Shows("SECONDS")
            .Range(1, 86400)
            .Otherwise(std::to_string(kPatienceS))
            .Example("60"),
    };
}

bool
IsToLaunch(const Values& values)
{
    return values.Given(&asked::Launch::launch) && !values.Given(&asked::Training::trace);
}

void
SetLaunched(Values* values, const std::string& folder)
{
    // Not present: it is no part of the configuration, with which the script is captured anew.
    Value& trace = values->Slot(&asked::Training::trace);
    trace.given = true;
    trace.where = "--launch";
    trace.raw = trace.text = folder;
}

void
CheckLaunch(Validation* v)
{
    const auto& values = v->values;
    v->Settle(&asked::Launch::launch);
    if (!values.Given(&asked::Launch::launch))
    {
        return;
    }
    if (values.Has(&asked::Training::trace))
    {
        v->Fail(&asked::Training::trace, v->Refusal(when::Without("launch")));
    }
    if (v->seat)
    {
        v->Fail(&asked::Launch::launch,
                "has no meaning for one of several jobs; capture it before (./ns3 capture) and "
                "give --trace");
    }
    if (values.Get(&asked::Run::mpiRanks) > 1 || FindLauncher().started)
    {
        v->Fail(&asked::Launch::launch,
                "is captured by one process; with --mpi-ranks, or under mpirun, capture it before "
                "(./ns3 capture) and give --trace");
    }
    if (values.Get(&asked::Launch::launch).find_first_not_of(" \t\n") == std::string::npos)
    {
        v->Fail(&asked::Launch::launch,
                "is empty; allowed: a script (launch.sh, train.py) or a launcher's words");
    }
    if (values.Given(&asked::Launch::captureStep) &&
        values.Get(&asked::Launch::captureStep).empty())
    {
        v->Fail(&asked::Launch::captureStep,
                "is empty; allowed: optimizer, a line of the script (train.py:87), a function of "
                "it (train_one_step), or one of a library (call:torch.cuda.synchronize)");
    }
    std::optional<uint32_t> twice;
    if (values.Given(&asked::Launch::captureRanks) &&
        !AreRanks(values.Get(&asked::Launch::captureRanks), &twice))
    {
        v->Fail(&asked::Launch::captureRanks,
                "allowed: auto, all, or numbers of ranks such as 0,5,127");
    }
    else if (twice)
    {
        v->Fail(&asked::Launch::captureRanks,
                "rank " + std::to_string(*twice) + " stands twice; allowed: each rank once");
    }
}

LaunchSpec
MakeLaunch(Validation* v, const training::GpuSpec& gpu, const topo::ServerSpec& server)
{
    const auto& values = v->values;
    LaunchSpec launch;
    launch.command = values.Get(&asked::Launch::launch);
    launch.gpu = gpu.name;
    launch.memoryBytes = gpu.memoryBytes;
    launch.multiprocessors = static_cast<uint32_t>(gpu.multiprocessors);
    launch.gpusPerServer = values.Given(&asked::Cluster::gpusPerServer)
                               ? values.Get(&asked::Cluster::gpusPerServer)
                               : server.gpus;
    launch.ranks = values.Given(&asked::Launch::captureRanks)
                       ? values.Get(&asked::Launch::captureRanks)
                       : kRanks;
    launch.steps = values.Given(&asked::Launch::captureSteps)
                       ? values.Get(&asked::Launch::captureSteps)
                       : kUntilAlike;
    launch.step = values.Get(&asked::Launch::captureStep);
    launch.network = values.Get(&asked::Launch::captureNetwork);
    launch.patienceS = values.Given(&asked::Launch::capturePatience)
                           ? values.Get(&asked::Launch::capturePatience)
                           : kPatienceS;
    return launch;
}

} // namespace scenario
