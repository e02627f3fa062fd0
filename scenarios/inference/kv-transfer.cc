/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/inference/kv-transfer.h"

namespace serving
{

namespace
{

const RegisteredKvTransfer g_whole({"whole", 1, "after the prompt", false});
const RegisteredKvTransfer g_byLayer({"by-layer", 2, "each layer's after its kernels", true});

} // namespace

} // namespace serving
