/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/network/child-options.h"

#include "scenarios/asked/modes.h"
#include "scenarios/asked/run.h"

namespace scenario
{

std::vector<Option>
ChildOptionRows(const std::string& of)
{
    const Section section{"/run", "Run"};
    return {
        section.Name("on", "where the runs of " + of + " go")
            .As(&asked::Run::on)
            .Names("places",
                   {{"local", "this machine, two at a time"},
                    {"slurm", "a cluster, a job of Slurm for each (docs/cluster.md)"}})
            .Default("local")
            .Example("slurm")
            .To(&RunOptions::childrenOn),
        section
            .Text("slurm-options",
                  "options of these jobs, as srun takes them, with or without their dashes")
            .As(&asked::Run::slurmOptions)
            .Shows("TEXT")
            .Otherwise("none")
            .Example("partition=short")
            .Only(when::Is("on", {"slurm"}))
            .To(&RunOptions::slurmOptions),
    };
}

void
SetChildPlace(const Values& values, RunOptions* run)
{
    run->childrenOn = values.Get(&asked::Run::on);
    run->slurmOptions =
        values.Has(&asked::Run::slurmOptions) ? values.Get(&asked::Run::slurmOptions) : "";
}

} // namespace scenario
