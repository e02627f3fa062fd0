/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef DLTRAIN_PLANNER_H
#define DLTRAIN_PLANNER_H

namespace dltrain
{

/// dlplan: searches the layout of a training job. \return exit status
int RunPlanner(int argc, const char* const* argv);

} // namespace dltrain

#endif // DLTRAIN_PLANNER_H
