/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/training/spec/profile-shape.h"

#include "scenarios/asked/model.h"
#include "scenarios/options/member.h"

namespace training
{

ProfileShape
ReadProfileShape(topo::JsonObject& in)
{
    ProfileShape shape;
    in.Whole("tp", shape.tensor, 1, 1 << 20);
    in.Whole("cp", shape.context, 1, 1 << 20);
    in.Whole("seq", shape.sequence, 1, 1 << 24);
    in.Whole("micro_batch", shape.microBatch, 1, 1 << 24);
    if (shape.microBatch > 0 && in.Has("batch"))
    {
        in.Fail("micro_batch",
                "has no meaning beside batch, with which times are scaled to any micro-batch");
    }
    return shape;
}

ProfileShape
ShapeOfProfile(const nlohmann::json& json)
{
    std::vector<topo::Error> errors;
    topo::JsonObject in(json, "", "", errors);
    return ReadProfileShape(in);
}

std::vector<topo::Error>
CheckProfileShape(const ProfileShape& shape, const std::string& file, const TrainingOptions& o)
{
    std::vector<topo::Error> errors;
    const auto check = [&](const char* key, Member field, uint32_t said, uint32_t run) {
        if (said > 0 && said != run)
        {
            const std::string name = Spell(field) + "=";
            errors.push_back({file + ": /" + key,
                              std::to_string(said),
                              "is what its times were measured with, and nothing is scaled to the "
                              "run's " +
                                  std::to_string(run) + "; allowed: " + name +
                                  std::to_string(said) + ", or times of a GPU's share with " +
                                  name + std::to_string(run)});
        }
    };
    // A job that cannot have tensor or context groups cannot have a profile with such shares.
    const auto checkShares = [&](const char* key, Member field, uint32_t said, uint32_t run) {
        if (said > 1 && !o.model.transformer)
        {
            errors.push_back({file + ": /" + key,
                              std::to_string(said),
                              "has no meaning: " + o.model.name +
                                  " does not say how its layers are shared out; allowed: 1, or " +
                                  Spell(&asked::Model::model) +
                                  " with a transformer beside the profile"});
            return;
        }
        check(key, field, said, run);
    };
    checkShares("tp", &asked::Degrees::tp, shape.tensor, o.tensor);
    checkShares("cp", &asked::Degrees::cp, shape.context, o.context);
    if (shape.sequence > 0 && !o.model.hasSequence)
    {
        errors.push_back({file + ": /seq",
                          std::to_string(shape.sequence),
                          "has no meaning: " + o.model.name + " has no sequences"});
    }
    else
    {
        check("seq", &asked::Training::seq, shape.sequence, o.Sequence());
    }
    check("micro_batch", &asked::Training::microBatch, shape.microBatch, o.microBatch);
    return errors;
}

std::string
NoteOfProfileShape(const ProfileShape& shape, const TrainingOptions& o)
{
    std::string run;
    const auto add = [&run](bool unusual, Member field, uint32_t value) {
        if (unusual)
        {
            run += (run.empty() ? "" : ", ") + Spell(field) + "=" + std::to_string(value);
        }
    };
    add(shape.tensor == 0 && o.tensor > 1, &asked::Degrees::tp, o.tensor);
    add(shape.context == 0 && o.context > 1, &asked::Degrees::cp, o.context);
    add(shape.sequence == 0 && o.model.hasSequence && o.Sequence() != o.model.sequence,
        &asked::Training::seq,
        o.Sequence());
    add(!run.empty() && o.profile && o.profile->batch == 0,
        &asked::Training::microBatch,
        o.microBatch);
    return run.empty() ? ""
                       : "its times are taken as they are, so they must be of a GPU's share with " +
                             run + " (which the keys tp, cp, seq and micro_batch of the file say)";
}

} // namespace training
