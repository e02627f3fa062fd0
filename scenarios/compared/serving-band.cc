/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/compared/serving-band.h"

#include "scenarios/compared/step-band.h"

namespace compared
{

Kind
ServingKind(const std::string& framework,
            const training::GpuSpec& gpu,
            const training::ModelSpec& model)
{
    return {{"software", framework.substr(0, framework.find('-'))},
            {"generation", gpu.generation},
            {"model", ClassOf(model)}};
}

} // namespace compared
