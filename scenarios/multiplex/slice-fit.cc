/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/multiplex/slice-fit.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace multiplex
{

namespace
{

constexpr std::size_t CONSTANTS = 5;
/// Of a measured row: their repeats are not published, so it is assumed.
constexpr double NOISE = 0.05;

using Logs = std::array<double, CONSTANTS>;
using Square = std::array<Logs, CONSTANTS>;

Logs
LogsOf(const SliceConstants& c)
{
    return {std::log(c.host),
            std::log(c.own),
            std::log(c.weights),
            std::log(c.work),
            std::log(c.link)};
}

SliceConstants
ConstantsOf(const Logs& x)
{
    return {std::exp(x[0]), std::exp(x[1]), std::exp(x[2]), std::exp(x[3]), std::exp(x[4])};
}

/// Solves a x = b of a symmetric positive definite matrix, by elimination.
Logs
Solve(Square a, Logs b)
{
    for (std::size_t i = 0; i < CONSTANTS; ++i)
    {
        for (std::size_t k = i + 1; k < CONSTANTS; ++k)
        {
            const double factor = a[k][i] / a[i][i];
            for (std::size_t j = i; j < CONSTANTS; ++j)
            {
                a[k][j] -= factor * a[i][j];
            }
            b[k] -= factor * b[i];
        }
    }
    for (std::size_t i = CONSTANTS; i-- > 0;)
    {
        for (std::size_t j = i + 1; j < CONSTANTS; ++j)
        {
            b[i] -= a[i][j] * b[j];
        }
        b[i] /= a[i][i];
    }
    return b;
}

class SliceFitter
{
  public:
    SliceFitter(const std::vector<SliceRow>& rows, const UsualConstants& usual)
        : m_rows(rows),
          m_usual(LogsOf(usual.usual)),
          m_spread(usual.spread)
    {
    }

    SliceConstants Fit() const
    {
        Logs x = m_usual;
        std::vector<double> residuals = Residuals(x);
        double cost = Cost(residuals);
        double damping = 1e-2;
        for (int step = 0; step < MOST_STEPS; ++step)
        {
            Square normal{};
            Logs slope{};
            Linearize(x, residuals, &normal, &slope);
            bool better = false;
            for (int i = 0; i < MOST_DAMPINGS && !better; ++i)
            {
                Square damped = normal;
                for (std::size_t k = 0; k < CONSTANTS; ++k)
                {
                    damped[k][k] *= 1 + damping;
                }
                const Logs change = Solve(damped, slope);
                Logs next = x;
                for (std::size_t k = 0; k < CONSTANTS; ++k)
                {
                    next[k] -= std::clamp(change[k], -2.0, 2.0);
                }
                const auto there = Residuals(next);
                const double costThere = Cost(there);
                better = costThere < cost;
                if (better)
                {
                    const bool done = cost - costThere < 1e-10 * cost;
                    x = next;
                    residuals = there;
                    cost = costThere;
                    damping = std::max(damping / 6, 1e-9);
                    if (done)
                    {
                        return ConstantsOf(x);
                    }
                }
                else
                {
                    damping *= 4;
                }
            }
            if (!better)
            {
                break;
            }
        }
        return ConstantsOf(x);
    }

  private:
    static constexpr int MOST_STEPS = 100;
    static constexpr int MOST_DAMPINGS = 15;
    static constexpr double DELTA = 1e-4;

    static double Cost(const std::vector<double>& residuals)
    {
        double sum = 0;
        for (const double residual : residuals)
        {
            sum += residual * residual;
        }
        return sum;
    }

    std::vector<double> Residuals(const Logs& x) const
    {
        std::vector<double> all;
        const SliceConstants constants = ConstantsOf(x);
        for (const SliceRow& row : m_rows)
        {
            all.push_back(LogError(constants, row) / NOISE);
        }
        for (std::size_t k = 0; k < CONSTANTS; ++k)
        {
            all.push_back((x[k] - m_usual[k]) / m_spread[k]);
        }
        return all;
    }

    void Linearize(const Logs& x,
                   const std::vector<double>& residuals,
                   Square* normal,
                   Logs* slope) const
    {
        std::array<std::vector<double>, CONSTANTS> columns;
        for (std::size_t k = 0; k < CONSTANTS; ++k)
        {
            Logs moved = x;
            moved[k] += DELTA;
            columns[k] = Residuals(moved);
            for (std::size_t i = 0; i < residuals.size(); ++i)
            {
                columns[k][i] = (columns[k][i] - residuals[i]) / DELTA;
            }
        }
        for (std::size_t k = 0; k < CONSTANTS; ++k)
        {
            for (std::size_t i = 0; i < residuals.size(); ++i)
            {
                (*slope)[k] += columns[k][i] * residuals[i];
                for (std::size_t j = 0; j < CONSTANTS; ++j)
                {
                    (*normal)[k][j] += columns[k][i] * columns[j][i];
                }
            }
        }
    }

    const std::vector<SliceRow>& m_rows;
    Logs m_usual;
    std::array<double, CONSTANTS> m_spread;
};

/// The middle one, or the mean of the middle two. \pre sorted, not empty
double
MiddleOf(const std::vector<double>& sorted)
{
    const std::size_t n = sorted.size();
    return (sorted[n / 2] + sorted[(n - 1) / 2]) / 2;
}

/// Between the two nearest ranks. \pre sorted, not empty
double
QuantileOf(const std::vector<double>& sorted, double share)
{
    const double at = share * static_cast<double>(sorted.size() - 1);
    const auto below = static_cast<std::size_t>(at);
    const std::size_t above = std::min(below + 1, sorted.size() - 1);
    return sorted[below] + (at - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

double
LogErrorOf(const LoopTimes& times, const SliceRow& row)
{
    const double perSecond = row.processes * row.batch / CycleSeconds(times, row.processes);
    return std::log(perSecond / row.perSecond);
}

} // namespace

const UsualConstants&
UsualOfAnyModel()
{
    static const UsualConstants usual = {{6, 0.01, 0.1, 37, 0.05}, {1, 2, 1, 1, 1}};
    return usual;
}

SliceConstants
FitSlices(const std::vector<SliceRow>& rows, const UsualConstants& usual)
{
    return SliceFitter(rows, usual).Fit();
}

double
LogError(const SliceConstants& constants, const SliceRow& row)
{
    return LogErrorOf(TimesOf(constants, *row.instance, row.batch), row);
}

double
LogError(const SliceCurve& curve, const SliceRow& row)
{
    return LogErrorOf(curve.Times(*row.instance, row.batch), row);
}

std::vector<double>
LeftOutErrors(const std::vector<SliceRow>& rows,
              const UsualConstants& usual,
              const std::function<uint32_t(const SliceRow&)>& key)
{
    std::map<uint32_t, std::vector<SliceRow>> groups;
    for (const SliceRow& row : rows)
    {
        groups[key(row)].push_back(row);
    }
    std::vector<double> errors;
    if (groups.size() < 2)
    {
        return errors;
    }
    for (const auto& [left, members] : groups)
    {
        std::vector<SliceRow> others;
        for (const SliceRow& row : rows)
        {
            if (key(row) != left)
            {
                others.push_back(row);
            }
        }
        const SliceConstants constants = FitSlices(others, usual);
        for (const SliceRow& row : members)
        {
            errors.push_back(LogError(constants, row));
        }
    }
    return errors;
}

ErrorSummary
Summarize(std::vector<double> logErrors)
{
    ErrorSummary summary;
    summary.rows = logErrors.size();
    if (logErrors.empty())
    {
        return summary;
    }
    std::vector<double> sizes;
    for (double& error : logErrors)
    {
        error = std::exp(error) - 1;
        sizes.push_back(std::abs(error));
    }
    std::sort(logErrors.begin(), logErrors.end());
    std::sort(sizes.begin(), sizes.end());
    summary.median = MiddleOf(sizes);
    summary.bias = MiddleOf(logErrors);
    summary.low = QuantileOf(logErrors, 0.1);
    summary.high = QuantileOf(logErrors, 0.9);
    return summary;
}

} // namespace multiplex
