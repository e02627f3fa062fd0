/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Printed by scripts/fit-multiplex from tests/golden/multiplex (icloud-ecnu/igniter@b1ff2ab:
 * i-Gniter/Profile/tools/gpulet.config and i-Gniter/Algorithm/config).
 *
 *   model      form fitted to            error of the form: median, p90
 *   alexnet    122 latencies             1.0%, 3.2%
 *   resnet50   122 latencies             1.5%, 3.6%
 *   vgg19      9 times and transfers     0.8%, 1.2%
 *   ssd        9 times and transfers     0.5%, 3.0%
 *
 * Slow-down in 375 pairs: 88% within 0.05 (alexnet 96%, resnet50 74%, vgg19 94%); of a model whose
 * rows are left out of the fit 85%, 74% and 87%.
 */
#include "scenarios/multiplex/igniter-v100.h"

#include "topologies/names.h"

namespace multiplex
{

const std::vector<ProfiledModel>&
IgniterModels()
{
    static const std::vector<ProfiledModel> models = {
        {"alexnet",
         {0.00422188, 8.50624, 23.5608, -0.23, 0.0604734, 0.375766},
         32,
         {60.611e-6, 31.768e-6, 20, {37.10815, 0.02389297}, {2.029571, 0.003092}, 0.002376}},
        {"resnet50",
         {0.0638984, 50.068, -1.81569, -1.36, 0.135186, 1.67527},
         32,
         {60.611e-6, 73.816e-6, 80, {4.626865, 0.162335}, {-0.189942, 0.02196}, 0.002163}},
        {"vgg19",
         {-0.00555368, 159.801, 47.2134, 0.28, 0.0606112, 0.687103},
         32,
         {60.611e-6, 39.249e-6, 29, {2.081851, 0.536729}, {2.722817, 0.045218}, 0.002018}},
        {"ssd",
         {-0.066699, 246.69, -1.00341, 0.66, 0.404888, 2.1043},
         32,
         {404.888e-6, 147.877e-6, 93, {2.339317, 0.644894}, {-0.128589, 0.08863}, 0.002281}},
    };
    return models;
}

const ProfiledModel*
FindIgniterModel(const std::string& name)
{
    for (const ProfiledModel& model : IgniterModels())
    {
        if (topo::SameName(name, model.name))
        {
            return &model;
        }
    }
    return nullptr;
}

} // namespace multiplex
