def test_first(request):
    judge = request.config.pluginmanager.get_plugin("cuvet-session")._judge
    judge._process.kill()
    judge._process.wait()


def test_second():
    pass
