/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/network/child-options.h"

#include "scenarios/asked/modes.h"
#include "scenarios/asked/run.h"
#include "scenarios/options/member.h"

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

std::vector<Error>
SetChildPlace(const Values& values, const std::string& none, RunOptions* run)
{
    std::vector<Error> errors;
    const auto fail = [&](Member option, const std::string& problem) {
        errors.push_back({values.Where(option), values.Raw(option), problem, ""});
    };
    if (values.Get(&asked::Run::on) == "slurm" && !none.empty())
    {
        fail(&asked::Run::on, "is of the runs that this one starts, and it starts none " + none);
    }
    if (values.Get(&asked::Run::on) != "slurm" && values.Given(&asked::Run::slurmOptions))
    {
        fail(&asked::Run::slurmOptions, "needs " + Spell(&asked::Run::on) + "=slurm");
    }
    run->childrenOn = values.Get(&asked::Run::on);
    run->slurmOptions =
        values.Has(&asked::Run::slurmOptions) ? values.Get(&asked::Run::slurmOptions) : "";
    return errors;
}

} // namespace scenario
