/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * How long do requests wait for their tokens, if a model is served on this cluster? And how many
 * models fit on one GPU?
 *
 *     ./ns3 run "dlserve --model=llama3-70b --server=dgx-h100 --tp=8 --rate=4 --prompt=1024
 *                --output=256"
 *     ./ns3 run "dlserve --multiplex=mix.json --policy=temporal,dstack,ideal"
 *     ./ns3 run "dlserve --share-curve --model=resnet-50 --gpu=V100 --batch=1,8,16"
 *     ./ns3 run "dlserve --kernel-times=tests/golden/measured/measured_kernels.csv"
 */
#include "contrib/dltrain/base/early-environment.h"
#include "contrib/dltrain/programs/frame.h"
#include "contrib/dltrain/programs/kernels.h"
#include "contrib/dltrain/programs/multiplex.h"
#include "scenarios/job/serving-scenario.h"

int
main(int argc, char* argv[])
{
    return dltrain::RunProgram("dlserve", [&] {
        if (dltrain::AsksForKernels(argc, argv))
        {
            return dltrain::CompareKernels(argc, argv);
        }
        return dltrain::AsksForMultiplex(argc, argv)
                   ? dltrain::RunMultiplex(argc, argv)
                   : dltrain::RunSimulator<scenario::ServingScenario>(argc, argv);
    });
}
