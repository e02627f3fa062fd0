/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/collective/reference-options.h"

#include "collectives/core/registry.h"
#include "contrib/rdma/core/shown-text.h"
#include "scenarios/asked/collperf.h"
#include "scenarios/formats/input-file.h"
#include "scenarios/formats/nccl/nccl-output.h"
#include "scenarios/options/options-detail.h"
#include "topologies/names.h"

namespace scenario
{

Option
ReferenceOptionRow(const Section& section)
{
    return section
        .File("reference",
              "output of nccl-tests or collperf for the same collective and GPUs: its time and "
              "busbw beside this run's, and their ratio")
        .As(&asked::Collperf::reference)
        .Shows("FILE.txt")
        .Otherwise("none");
}

void
TakeReference(Validation* v, uint32_t servers, CollperfScenario* s)
{
    if (!v->values.Given(&asked::Collperf::reference))
    {
        return;
    }
    const std::string& file = v->values.Get(&asked::Collperf::reference);
    std::vector<topo::Error> errors;
    const auto text = formats::ReadInput(file, errors);
    if (!text)
    {
        v->FailFile(&asked::Collperf::reference, errors);
        return;
    }
    const auto output = formats::ReadNcclOutput(*text, file, errors);
    if (!output)
    {
        v->errors.push_back({"", "", errors[0].Sentence(), ""}); // with the line
        return;
    }
    if (!output->op.empty() && coll::ParseOp(output->op) != s->op)
    {
        v->Fail(&asked::Collperf::reference,
                "is of " + rdma::Shown(output->op, 60) + "; allowed: of " + coll::OpName(s->op) +
                    ", or another --op");
        return;
    }
    if (output->ranks > 0 && output->ranks != s->ranks)
    {
        v->Fail(&asked::Collperf::reference,
                "was measured on " + topo::Counted(output->ranks, "GPU") + "; allowed: on " +
                    std::to_string(s->ranks) + ", or another --ranks");
        return;
    }
    for (const uint64_t bytes : s->sizes)
    {
        const auto found = output->time.find(bytes);
        if (found != output->time.end())
        {
            s->reference.time.insert(*found);
        }
    }
    if (s->reference.time.empty())
    {
        v->Fail(&asked::Collperf::reference,
                "has " + topo::Counted(output->time.size(), "size") + ", " +
                    std::to_string(output->time.begin()->first) + " to " +
                    std::to_string(output->time.rbegin()->first) +
                    " B, and none of the run's; allowed: at least one (-b, -e, -f)");
        return;
    }
    s->reference.file = file;
    const std::string name =
        v->values.Where(&asked::Collperf::reference) + "=" + rdma::Shown(file, 300);
    if (output->ranks == 0)
    {
        v->notes.push_back(name + " does not say how many GPUs it was measured on: taken as " +
                           std::to_string(s->ranks));
    }
    else if (output->hosts != servers)
    {
        v->notes.push_back(name + " was measured on " + topo::Counted(output->hosts, "host") +
                           ", here are " + topo::Counted(servers, "server"));
    }
    if (output->op.empty())
    {
        v->notes.push_back(name + " does not say which collective it is: taken as " +
                           coll::OpName(s->op));
    }
}

} // namespace scenario
