/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * When the tasks of a step graph run on a network that takes no time.
 */
#ifndef TESTS_UNIT_SCENARIOS_STEP_TIMES_H
#define TESTS_UNIT_SCENARIOS_STEP_TIMES_H

#include "scenarios/training/steps/step-graph.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <vector>

struct TaskTime
{
    double start = 0; ///< s
    double end = 0;
};

/// Streams run their tasks in order, and what a task waits for stands before it.
inline std::vector<TaskTime>
TimesOf(const training::StepGraph& graph)
{
    std::vector<double> free(graph.streams.size(), 0);
    std::vector<TaskTime> times;
    for (const training::Task& task : graph.tasks)
    {
        TaskTime t;
        t.start = free[task.stream];
        for (const training::TaskId before : task.after)
        {
            EXPECT_LT(before, times.size()) << task.name;
            t.start = std::max(t.start, times[before].end);
        }
        t.end = t.start + task.duration.Seconds();
        free[task.stream] = t.end;
        times.push_back(t);
    }
    return times;
}

inline double
StepSeconds(const training::StepGraph& graph)
{
    double end = 0;
    for (const TaskTime& t : TimesOf(graph))
    {
        end = std::max(end, t.end);
    }
    return end;
}

#endif // TESTS_UNIT_SCENARIOS_STEP_TIMES_H
