from metrics.convert import Converter


class ChemistryConverter(Converter):
    roles = {}

    def parts(self, role, path, stream): ...
    def records(self, key, parts): ...
