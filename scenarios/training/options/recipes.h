/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * --recipe: options as a framework has them. A recipe is one entry of the table in recipes.cc, with
 * the source of its values.
 */
#ifndef SCENARIOS_TRAINING_OPTIONS_RECIPES_H
#define SCENARIOS_TRAINING_OPTIONS_RECIPES_H

#include "scenarios/options/validation.h"

#include <string>
#include <vector>

namespace scenario
{

constexpr const char* kRecipeTitle = "Recipes (--recipe)";
/// Names and what they stand for, for the help.
std::vector<NamedItem> RecipeItems();
/// The list of --help=recipes: with what each sets, and when.
std::string RecipesText();

/// Decides the options of the recipe that is given, but for those that are given themselves. A note
/// says which ones. Before all that reads them.
void ApplyRecipe(Validation* v);

} // namespace scenario

#endif // SCENARIOS_TRAINING_OPTIONS_RECIPES_H
