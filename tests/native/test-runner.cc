/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Runs the ns-3 test suites of contrib/, as ns-3's own test-runner does in a source tree.
 */
#include "ns3/test.h"

int
main(int argc, char* argv[])
{
    return ns3::TestRunner::Run(argc, argv);
}
