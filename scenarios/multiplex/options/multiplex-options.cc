/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/multiplex/options/multiplex-options.h"

#include "scenarios/asked/multiplex.h"
#include "scenarios/asked/serving.h"
#include "scenarios/job/parse-result.h"
#include "scenarios/network/common-options.h"
#include "topologies/names.h"

#include <algorithm>
#include <set>

namespace scenario
{

namespace
{

OptionTable
MakeMultiplexTable()
{
    OptionTable t;
    t.program = "dlserve";
    t.version = kVersion;
    t.description = "many models on one GPU: which policy keeps which latency, and how much of the "
                    "GPU it uses";
    t.Add(MultiplexOptionRows());
    t.Add(MultiplexSharedRows());
    const std::set<std::string> kept =
        {"scenario", "out", "seed", "dry-run", "report", "list", "help", "version"};
    std::vector<Option> rows;
    for (Option& option : RunOptionRows("dlserve"))
    {
        if (kept.count(option.name) > 0)
        {
            rows.push_back(std::move(option));
        }
    }
    t.Add(std::move(rows));
    t.lists.push_back({"policies", "Policies (--policy)", ItemsOf<multiplex::PolicyEntry>});
    t.examples = {
        "dlserve --share-curve --model=resnet-50 --gpu=V100 --batch=1,8,16",
        "dlserve --slices --model=resnet50 --processes=1,2,3 --batch=1,4,16",
        "dlserve --multiplex=mix.json --policy=dstack --duration=60s",
        "dlserve --multiplex=mix.json --policy=all --sweep-rate=10..200",
    };
    t.Finish();
    return t;
}

} // namespace

std::vector<Option>
MultiplexOptionRows()
{
    const Section section{"/multiplex", "Many models on a GPU"};
    return {
        section
            .File("multiplex",
                  "models that share GPUs, with their rates and SLOs; simulated without packets")
            .As(&asked::Multiplex::multiplex)
            .Shows("FILE.json")
            .At("/multiplex/mix")
            .Otherwise("none"),
        section
            .List("policy",
                  "who runs when, with which share: " +
                      JoinNames(ItemsOf<multiplex::PolicyEntry>()) + "; all: a table of them")
            .As(&asked::Multiplex::policy)
            .Shows("NAME,...")
            .Distinct()
            .Default("dstack")
            .Example("temporal,dstack,ideal")
            .Only(when::With("multiplex")),
        section
            .Text(
                "sweep-rate",
                "the same for these rates, in per cent of the mix's: from FROM, doubled, to TO; or "
                "in steps")
            .As(&asked::Serving::sweepRate)
            .Shows("FROM..TO[:STEP]")
            .Otherwise("the mix's rates")
            .Example("10..200")
            .Only(when::With("multiplex")),
        section
            .Duration("switch-time",
                      "until another model runs, where models take turns; 100us: D-STACK with a "
                      "process in its shadow")
            .As(&asked::Multiplex::switchTime)
            .Range(0, 1e14)
            .Default("100us")
            .Example("1ms"),
        section
            .Flag(
                "interference",
                "models that run at once slow each other down beyond their shares, as iGniter has "
                "it")
            .As(&asked::Multiplex::interference)
            .Default("1"),
        section.Flag("share-curve", "print latency against the share of a GPU, and its knee")
            .As(&asked::Multiplex::shareCurve)
            .Default("0"),
        section
            .Flag("slices",
                  "print throughput and latency of a model by MIG instance of an A100, processes "
                  "under MPS and batch, in closed loops")
            .As(&asked::Multiplex::slices)
            .Default("0"),
        section.Text("processes", "of --slices: processes on an instance")
            .As(&asked::Multiplex::processes)
            .Shows("N,...")
            .Otherwise("1,2,3")
            .Example("1,4"),
        section
            .Duration("operator-time",
                      "of the host, until PyTorch has launched a kernel; of MIG instances with "
                      "--curve=kernels. 27us: ParvaGPU's host, fitted to four models; 5 to 10 us "
                      "are usual (assumed)")
            .As(&asked::Multiplex::operatorTime)
            .Range(0, 1e10)
            .Default("27us")
            .Example("8us"),
        section.Name("curve", "where latency is from")
            .As(&asked::Multiplex::curve)
            .Names("source of the latency",
                   {{"auto", "the first of the others that there is"},
                    {"table", "rows of --curves, and lines between them"},
                    {"fitted",
                     "iGniter's form, fitted to --curves, or to its V100; of MIG instances five "
                     "constants, fitted to --curves, or to ParvaGPU's A100"},
                    {"kernels", "the model zoo's kernels on a part of the GPU"}})
            .Default("auto")
            .Example("kernels"),
        section.Integer("seq", "tokens of a request, of kernels of models that have them")
            .As(&asked::Multiplex::seq)
            .Range(1, 1e6)
            .Default("128")
            .Example("512"),
        section
            .File("curves",
                  "measured latencies: columns model, batch, gpu_percent, latency_ms; or of MIG "
                  "instances: model, instance, processes, batch, throughput_total_per_s")
            .As(&asked::Multiplex::curves)
            .Shows("FILE.csv")
            .Otherwise("none"),
        section
            .File(
                "compare",
                "measured rows to compare with: columns as --curves, or of pairs: model1, model2, "
                "batch1, batch2, gpu_percent1, gpu_percent2, latency1_ms, latency2_ms; or of MIG "
                "instances, as --curves")
            .As(&asked::Multiplex::compare)
            .Shows("FILE.csv")
            .Otherwise("none"),
    };
}

std::vector<Option>
MultiplexSharedRows()
{
    const Section section{"/serving", "Serving"};
    return {
        section.Text("model", "of --share-curve and --slices: names of the zoo, or of --curves")
            .As(&asked::Multiplex::model)
            .Shows("NAME,...")
            .Otherwise("all that were measured")
            .Example("resnet-50"),
        section.Text("batch", "of --share-curve and --slices")
            .As(&asked::Multiplex::batch)
            .Shows("N,...")
            .Otherwise("1,8,16")
            .Example("1,32"),
        section.Text("gpu", "a name or a JSON file")
            .As(&asked::Multiplex::gpu)
            .Shows("NAME")
            .Default("V100")
            .Example("A100"),
        section.Text("gpus", "of --multiplex; some policies add more")
            .As(&asked::Multiplex::gpus)
            .Shows("N")
            .Default("1")
            .Example("2"),
        section.Text("duration", "time in which requests arrive")
            .As(&asked::Multiplex::duration)
            .Shows("TIME")
            .Default("10s")
            .Example("60s"),
        section.Text("dtype", "of kernels")
            .As(&asked::Multiplex::dtype)
            .Shows("TYPE")
            .Otherwise("bf16, on GPUs without it fp32")
            .Example("fp16"),
    };
}

const OptionTable&
MultiplexOptionTable()
{
    static const OptionTable table = MakeMultiplexTable();
    return table;
}

bool
AsksForMultiplex(const Values& values)
{
    return values.Given(&asked::Multiplex::multiplex) ||
           values.Get(&asked::Multiplex::shareCurve) || values.Get(&asked::Multiplex::slices) ||
           values.Given(&asked::Multiplex::compare);
}

} // namespace scenario
